"""Findings (fine-grained hallucinations): their six kinds, tags in a text, and edits."""
