"""Tokenises prompts for local models: plain text or a chat template; the prompt that a tuned model carries.

Special tokens that a text spells out are broken up first: no text can end the prompt or open a turn of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from eirene.core.errors import InputError
from eirene.models.local.spec import PROMPT_FILE
from eirene.prompts import Message, Prompt

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_SLOT = "(the message)"
Role = Literal["feedback", "hallucination", "refiner"]
ROLES: tuple[Role, ...] = ("feedback", "hallucination", "refiner")


def encode_text(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """The tokens of a plain text, with the tokenizer's own start token if it has one, and without an end token."""
    ids = cast("list[int]", tokenizer(break_special_tokens(tokenizer, text))["input_ids"])
    return ids[:-1] if ids and ids[-1] == tokenizer.eos_token_id else ids


def as_text(messages: Sequence[Message]) -> str:
    """Messages as one plain text, for models without a chat template."""
    return "\n\n".join(m.content for m in messages) + "\n"


def encode_chat(tokenizer: PreTrainedTokenizerBase, messages: Sequence[Message]) -> list[int]:
    """The tokens of a chat up to where the model's reply begins."""
    from jinja2.exceptions import TemplateError

    chat = [{"role": m.role, "content": break_special_tokens(tokenizer, m.content)} for m in messages]
    try:
        text = _templated(tokenizer, chat)
    except TemplateError:  # some templates refuse a system message
        joined = "\n\n".join(m["content"] for m in chat)
        text = _templated(tokenizer, [{"role": "user", "content": joined}])
    return encode_reply(tokenizer, text)


def encode_chat_frame(tokenizer: PreTrainedTokenizerBase, before: str) -> tuple[list[int], list[int]]:
    """The tokens of a chat around one user message that opens with `before`: up to what follows that, and from the
    message's end to where the model's reply begins."""
    text = _templated(tokenizer, [{"role": "user", "content": before + _SLOT}])
    opening, _, ending = text.partition(_SLOT)
    return encode_reply(tokenizer, opening), encode_reply(tokenizer, ending)


def encode_reply(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """The tokens of a text that goes on after others: no start token, no end token."""
    return cast("list[int]", tokenizer(text, add_special_tokens=False)["input_ids"])


def _templated(tokenizer: PreTrainedTokenizerBase, chat: list[dict[str, str]]) -> str:
    # Templates of thinking models have this switch, others pass it over: thoughts would use up the reply's tokens.
    return str(tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True, enable_thinking=False))


def break_special_tokens(tokenizer: PreTrainedTokenizerBase, text: str) -> str:
    """The text with every special token that it spells out taken apart by a space."""
    for token in tokenizer.all_special_tokens:
        if len(token) > 1:
            text = text.replace(token, f"{token[0]} {token[1:]}")
    return text


@dataclass(frozen=True, slots=True)
class CarriedPrompt:
    """What a model was asked in while it was trained, and so wants to be asked in.

    `role` says as what it was trained; one model may serve in both roles, and only that one heeds the prompt.
    `instruction` is the words of the data where a feedback model was trained with other ones than ours.
    """

    role: Role
    layout: str
    prompt: Prompt
    instruction: str | None = None

    @classmethod
    def read(cls, value: dict[str, Any], *, where: str) -> CarriedPrompt:
        """From the file's JSON; raises `InputError` where something is missing or of the wrong type."""
        texts = {name: value.get(name) for name in ("layout", "name", "system", "user", "digest")}
        bad = sorted(name for name, text in texts.items() if not isinstance(text, str))
        instruction = value.get("instruction")
        if bad or not (instruction is None or isinstance(instruction, str)):
            raise InputError(f"{PROMPT_FILE} needs texts under {', '.join(bad or ['instruction'])}", where=where)
        role = value.get("role", "feedback")  # files of the first version know no other
        if role not in ROLES:
            raise InputError(f"{PROMPT_FILE}: role must be one of {', '.join(ROLES)}, got {role!r}", where=where)
        layout, name, system, user, digest = map(str, texts.values())
        return cls(role, layout, Prompt(name, system, user, digest), instruction)

    def to_json(self) -> dict[str, Any]:
        """What `read` reads."""
        prompt = {
            name: value for name, value in asdict(self.prompt).items() if name != "left_out"
        }  # it is a shipped one
        return {"role": self.role, "layout": self.layout, **prompt, "instruction": self.instruction}


def carried(value: dict[str, Any] | None, role: Role, *, where: str) -> CarriedPrompt | None:
    """The prompt that a model carries for a role; None where it carries none, or one for the other role.

    `value` is what stands beside the weights, as read; `where` names the model in an `InputError`.
    """
    found = None if value is None else CarriedPrompt.read(value, where=where)
    return found if found is not None and found.role == role else None
