"""`eirene batch`."""
