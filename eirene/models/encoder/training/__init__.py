"""Training of the shipped encoder."""
