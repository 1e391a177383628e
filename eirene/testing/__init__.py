"""Test doubles: scripted servers, models and parts. Nothing here is used in a run."""
