"""Prompts: every text that a model is shown, one Markdown file each, and the loader."""

from eirene.prompts.loader import (
    SHIPPED,
    Message,
    Prompt,
    PromptSet,
    load_prompt,
    parse_prompt,
    prompt_set,
    read_prompts,
)

__all__ = ["SHIPPED", "Message", "Prompt", "PromptSet", "load_prompt", "parse_prompt", "prompt_set", "read_prompts"]
