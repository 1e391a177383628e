"""The detectors, one file or folder each. `eirene.eval.registry` lists them."""
