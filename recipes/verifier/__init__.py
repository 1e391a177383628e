"""The recipe of the verifier's head: `python -m recipes.verifier`."""
