"""The verifier: a small head on the encoder's token vectors that reads a premise and a claim."""
