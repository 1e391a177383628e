"""Every text that a model is shown, one Markdown file each, and the loader. No other wording reaches a model."""

from eirene.prompts.loader import Message, Prompt, load_prompt, parse_prompt

__all__ = ["Message", "Prompt", "load_prompt", "parse_prompt"]
