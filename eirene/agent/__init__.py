"""The state machine, the gate, and everything that runs them. New detectors, refiners and critics belong elsewhere."""
