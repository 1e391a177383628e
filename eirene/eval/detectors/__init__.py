"""The detectors, one file or folder each; `eirene.eval.registry` finds whatever is declared here."""
