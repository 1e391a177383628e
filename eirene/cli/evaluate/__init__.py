"""`eirene evaluate`, a file for each thing that is measured."""
