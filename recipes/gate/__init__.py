"""Fits the gate's comparison on people's edits, and on harm done to their corrections by rule."""
