"""Cleans the text of a reply: thinking blocks, end marks, invisible characters, preambles, code fences, quotes.

All functions take time linear in the reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from eirene.core.errors import UnusableReplyError
from eirene.models.replies import Reply
from eirene.text.thinking import TAGS, without_thinking
from eirene.text.unicode import INVISIBLE

_FINAL = "<|channel|>final<|message|>"
_END = re.compile(
    r"<\|(?:im_end|eot_id|endoftext|end|end_of_text|return|eom_id)\|>|</s>|<eos>|<end_of_turn>"
    r"|<[｜|]end▁of▁sentence[｜|]>"
)
_HEADED = re.compile(r"\A\s*#{2,4} ?Response:?[ \t]*", re.IGNORECASE)
_NEXT = re.compile(r"^#{2,4} ?(?:Instruction|Input)\b", re.IGNORECASE | re.MULTILINE)
_INVISIBLE = re.compile(f"[{INVISIBLE}]+")
_BREAK = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")

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


class UnreadableError(Exception):
    """Why a reply cannot be used, in few words; its readers turn it into an invalid sample."""


def check_ending(reply: Reply, what: str) -> None:
    """Raises `UnusableReplyError` for a reply that was cut off or filtered; `what` it was to be, such as `rewrite`."""
    if reply.is_cut_off:
        why = f"the {what} was cut off at the model's length limit"
    elif reply.is_filtered:
        why = f"the provider's content filter stopped the {what}"
    else:
        return
    raise UnusableReplyError(why, reply=without_thinking(reply.text).strip())


def cleaned(text: str, *, quotable: Iterable[str] = (), inline: bool = False) -> str:
    """What a judge's or critic's reply says, without thinking, end marks and invisible characters; line breaks as \\n.

    Thinking goes from a tag at a line's start (with `inline` anywhere: the reply speaks of no tags) to the next closing
    one, and with a stray closing tag all before it. `quotable` are texts that the reply may quote. Raises
    `UnreadableError` where one of them ends a thinking block, so that thinking cannot be told from a quotation.
    """
    text = _INVISIBLE.sub("", _BREAK.sub("\n", text))
    if _FINAL in text:
        text = text.rpartition(_FINAL)[2]
    text = _without_any_thinking(text, quotable, inline=inline)
    ended = _END.search(text)
    return text[: ended.start()] if ended else text


def cleaned_instruct(text: str, *, quotable: Iterable[str] = (), own_headings: int = 0) -> str:
    """`cleaned`, and without the headings of the instruct layout that a run-on model writes.

    A heading of a further part ends the reply, after as many as it holds by right (`own_headings`).
    """
    text = cleaned(text, quotable=quotable)
    headed = _HEADED.match(text)
    text = text[headed.end() :] if headed else text
    further = next(islice(_NEXT.finditer(text), own_headings, None), None)
    return text[: further.start()] if further and text[: further.start()].strip() else text


def count_headings(text: str) -> int:
    """How many lines of a text begin as the parts of the instruct layout do: a model that copies it copies them."""
    return sum(1 for _ in _NEXT.finditer(text))


def _without_any_thinking(text: str, quotable: Iterable[str], *, inline: bool) -> str:
    kept: list[str] = []
    at, inside = 0, False
    if not any(mark in text for mark in (">", "▷", "THINK]", "think]")):
        return text
    is_held = any("</" in s and TAGS.search(s) for s in quotable)
    for tag in TAGS.finditer(text):
        is_end = "/" in tag[0]
        if not is_end and (inside or (tag["line"] is None and not inline)):  # inside a line it is spoken of, not meant
            continue
        if is_end and is_held:
            raise UnreadableError("ambiguous: the answer holds thinking tags, and so does the reply")
        if not is_end:
            kept.append(text[at : tag.start()])
        elif not inside:
            kept.clear()
        inside, at = not is_end, tag.end()
    return "".join(kept) if inside else "".join([*kept, text[at:]])


def unwrapped(text: str, *, before: str = "", marks: tuple[str, ...] = ()) -> str:
    """The text that a model was asked to write; empty when nothing is left beside thinking and preamble.

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


def inside_fence(text: str) -> str:
    """What the code fence around a whole text holds; the text itself where there is none."""
    found = _fenced(text)
    return text if found is None else found[1]


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
