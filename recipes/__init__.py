"""How the shipped models were made. Run from a clone, with the extra `train`; not part of the package."""
