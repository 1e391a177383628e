"""`eirene train`, a file for each part that is trained."""
