"""Takes off what models like to put around a text that they were asked for: thinking, preambles, fences, quotes."""

from __future__ import annotations

import re

# Thinking stands first, in a block of its own. Some servers swallow the opening tag with the chat template.
_THINKING = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THINKING_END = re.compile(r"\A(?:(?!<think(?:ing)?>).)*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)

_SUBJECT = r"(?:answer|response|version|text|rewrite|revision|reply)"
_ADJECTIVE = (
    r"(?:improved|revised|refined|rewritten|updated|corrected|enhanced|better|new|final|complete|more[ ]complete)"
)
_YES = (
    r"(?:sure(?:[ ]thing)?|certainly|of[ ]course|absolutely|okay|ok|yes|got[ ]it|understood|great|gladly|"
    r"happy[ ]to[ ]help)"
)
_THANKS = r"(?:thank(?:s|[ ]you)[^.!:\n]{0,60})"
# "Sure, here is the improved answer:" and its kind: one line at most, and it must end in a colon.
_PREAMBLE = re.compile(
    rf"""\A\s*(?:\*\*|\#{{1,6}}\s*|_)?(?:
        (?:(?:{_YES}|{_THANKS})[\s,.!:;—–-]+)?
        (?:here(?:['’]s|\s+is|\s+are|\s+you\s+go)|below\s+is|this\s+is|the\s+following\s+is|i(?:['’]ve|\s+have)\s+(?:improved|revised|rewritten))
        (?=[^:\n]{{0,160}}\b{_SUBJECT}\b)[^:\n]{{0,200}}:
      | (?:(?:my|the|your)\s+)?{_ADJECTIVE}\s+{_SUBJECT}\s*:
      | (?:{_YES})\s*[!.:,]\s*$
    )(?:\*\*|_)?[ \t]*""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"(?P<fence>`{3,}+|~{3,}+)[^\n`]*+\n")
_QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»", "'": "'", "‘": "’"}


def unwrapped(text: str, *, before: str = "", marks: tuple[str, ...] = ()) -> str:
    """The text that a reply holds; empty when nothing is left beside thinking and preamble.

    Thinking, a preamble, a code fence or quotation marks around the whole, and lines that hold nothing but one of the
    prompt's `marks` are taken off, unless the text `before` has the like. Nothing else is: blank lines, lists and
    closing remarks stay.
    """
    text = without_thinking(text)
    for mark in marks:
        text = re.sub(rf"^[ \t]*{re.escape(mark)}[ \t]*(?:\n|\Z)", "", text, flags=re.MULTILINE)
    text = text.strip()
    for _ in range(3):  # a preamble may stand before a fence, in which there may be quotation marks
        shorter = _unquoted(_unfenced(_without_preamble(text, before), before), before)
        if shorter == text:
            break
        text = shorter
    return text


def without_thinking(text: str) -> str:
    """The text after a model's `<think>` block, if it begins with one; nothing when the block never ends."""
    shorter = _THINKING.sub("", text)
    return shorter if shorter != text else _THINKING_END.sub("", text)


def _without_preamble(text: str, before: str) -> str:
    if _PREAMBLE.match(before.strip()):
        return text
    rest = text
    for _ in range(2):  # "Certainly!" on a line of its own, then "Here is the improved answer:"
        rest = _PREAMBLE.sub("", rest, count=1).strip()
    return rest


def _unfenced(text: str, before: str) -> str:
    found = _fenced(text)
    if found is None or found[0] in found[1] or _fenced(before.strip()):
        return text
    return found[1].strip()


def _fenced(text: str) -> tuple[str, str] | None:
    """The fence that stands around a whole text, and what it holds; None where there is none.

    A fence ends with as many marks as it begins with. Of tildes it may end with fewer, three at least.
    """
    opened, body = _FENCE.match(text), text.rstrip(" \t")
    if opened is None:
        return None
    fence, inside = opened["fence"], body[opened.end() :]
    closing = len(inside) - len(inside.rstrip(fence[0]))
    if fence[0] == "~":
        fence = fence[:closing]
    if not 3 <= len(fence) <= closing:
        return None
    return fence, inside[: -len(fence)].removesuffix("\n")


def _unquoted(text: str, before: str) -> str:
    start = before.strip()
    closing = _QUOTES.get(text[:1])
    if closing is None or len(text) < 3 or not text.endswith(closing) or start.startswith(text[0]):
        return text
    inside = text[1:-1]
    # '"Yes," he said. "No."' begins and ends with quotation marks that do not belong together.
    return text if text[0] in inside or closing in inside else inside.strip()
