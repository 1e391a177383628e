"""`eirene train`, a file for each model that can be trained."""
