"""Prompts: every text that a model is shown, one Markdown file each, and the loader."""

from eirene.prompts.loader import Message, Prompt, load_prompt, parse_prompt
from eirene.prompts.own import SHIPPED, PromptSet, prompt_set, read_prompts

__all__ = ["SHIPPED", "Message", "Prompt", "PromptSet", "load_prompt", "parse_prompt", "prompt_set", "read_prompts"]
