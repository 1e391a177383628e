"""Asks for critiques, reads them, and selects one. No rewriting and no scoring of answers belongs here."""
