"""Metrics: figures made of predictions and labels, with bootstrap intervals. Runs no model."""
