"""Feedback models (critics): they ask for critiques, parse the replies, and vote on one. No rewriting, no scoring."""
