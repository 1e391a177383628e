"""Parsing: from a model's reply to a checked critique."""
