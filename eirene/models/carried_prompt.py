"""The prompt that a fine-tuned model was trained with, kept beside its weights in `eirene_prompt.json`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from eirene.errors import InputError
from eirene.models.local_spec import PROMPT_FILE
from eirene.prompts import Prompt

Role = Literal["feedback", "hallucination", "refiner"]
ROLES: tuple[Role, ...] = ("feedback", "hallucination", "refiner")


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
        prompt = Prompt(
            name=str(texts["name"]), system=str(texts["system"]), user=str(texts["user"]), digest=str(texts["digest"])
        )
        return cls(role, str(texts["layout"]), prompt, instruction)

    def to_json(self) -> dict[str, Any]:
        """What `read` reads."""
        p = self.prompt
        return {
            "role": self.role,
            "layout": self.layout,
            "name": p.name,
            "digest": p.digest,
            "system": p.system,
            "user": p.user,
            "instruction": self.instruction,
        }


def carried(value: dict[str, Any] | None, role: Role, *, where: str) -> CarriedPrompt | None:
    """The prompt that a model carries for a role; None where it carries none, or one for the other role.

    `value` is what stands beside the weights, as read; `where` names the model in an `InputError`.
    """
    found = None if value is None else CarriedPrompt.read(value, where=where)
    return found if found is not None and found.role == role else None
