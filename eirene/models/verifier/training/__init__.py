"""Training of the verifier's head."""
