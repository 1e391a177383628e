"""FAVA's synthetic data (section 5.1): passages with errors of known kind and place, by a model."""
