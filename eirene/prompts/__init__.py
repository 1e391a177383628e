"""Prompts: every text that a model is shown, one Markdown file each, and the loader."""

from eirene.prompts.loader import Message, Prompt, load_prompt, parse_prompt

__all__ = ["Message", "Prompt", "load_prompt", "parse_prompt"]
