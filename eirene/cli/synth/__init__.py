"""`eirene synth`."""
