"""Thinking: blocks such as `<think>...</think>` in a model's text, which are no part of what it says.

A block begins the text, or a line after the end of a sentence, or follows another block. It may lack its opening tag,
which some servers swallow, or its closing one. Tags in code, in quotes and inside sentences are spoken of, not meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from eirene.text.matching import Span, between

_NAMES = r"(?:think|thinking|thought|thoughts|reasoning|scratchpad|analysis|reflection|seed:think)"
_TAG = (
    rf"</?(?P<name>{_NAMES})>|◁/?think▷|\[/?THINK\]|<\|(?:/|(?:begin|start|end)_(?:of_)?)?{_NAMES}(?:_(?:start|end))?\|>"
    r"|<\|inner_(?:prefix|suffix)\|>|<\|channel>thought\b|<channel\|>|<unused94>thought\b|<unused95>"
    r"|(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)[^<]{0,80}<\|message\|>"
    r"|(?:<\|end\|>\s*)?(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>"
)
TAGS = re.compile(rf"(?P<line>^[ \t]*)?(?:{_TAG})", re.IGNORECASE | re.MULTILINE)
"""Tags around thinking; `line` where one begins its line, `name` where it has one."""
_TOKENS = re.compile(
    rf"^[ \t]*(?P<fence>`{{3,}}|~{{3,}}).*$|`[^`\n]{{1,500}}`|(?P<tag>{_TAG})", re.IGNORECASE | re.MULTILINE
)
_CLOSING = re.compile(r".{0,2}(?:/|end_|\w+_end|inner_suffix|unused95)|<channel\||.*final<", re.IGNORECASE | re.DOTALL)
_SPACE = re.compile(r"\s*")
_SPOKEN_OF = re.compile(
    r"[ \t]*[,.;:)?!]|[ \t]+(?:tags?|is|are|was|and|or|blocks?|elements?|sections?|markers?|means?|marks?|to|in|at|when"
    r"|after|before|must|should|may|can|then|token)\b"
)
"""What follows a tag that a text speaks of."""
_QUOTES = frozenset("\"'“”‘’")
_ENDS = ".!?;…。！？؟।\"'”’)]*_`"
_STRAY = frozenset(["think", "thinking", "seed:think", ""])
"""Tags that may close what none opened; the other names may stand in any XML."""


def thinking_spans(text: str) -> tuple[Span, ...]:
    """Offsets of the blocks in order, each with the white space after it; the last of a text with that before it."""
    found: list[Span] = []
    at, is_told = 0, TAGS.search(text) is None  # is_told: the text has spoken of an opening tag
    while not (is_told and not found) and (token := _TOKENS.search(text, at)) is not None:
        at = token.end()
        if token["fence"]:
            closing = re.compile(rf"^[ \t]*{token['fence']}[ \t]*$", re.MULTILINE).search(text, at)
            at = len(text) if closing is None else closing.end()
        elif token["tag"] and _CLOSING.match(token["tag"]):
            if not is_told and _closes(text, token):
                found = [(0, at)]
        elif token["tag"]:
            close = _closing(text, token) if _opens(text, token, found) else token
            is_told = is_told or close is token or (close is not None and bool(_SPOKEN_OF.match(text, close.end())))
            at = len(text) if close is None else close.end()
            if not is_told:
                found.append((token.start(), at))
    return tuple(_spaced(text, span) for span in found)


def without_thinking(text: str) -> str:
    """What a text says beside its blocks, joined."""
    spans = thinking_spans(text)
    return "".join(text[a:b] for a, b in between(spans, len(text))) if spans else text


def masked_thinking(text: str) -> str:
    """The text with a space for every character of its blocks, so that offsets stay."""
    spans = thinking_spans(text)
    said = between(spans, len(text))
    blank = [" " * (end - start) for start, end in spans] + [""]
    return "".join(text[a:b] + gap for (a, b), gap in zip(said, blank, strict=True))


def _opens(text: str, tag: re.Match[str], before: Sequence[Span]) -> bool:
    """Whether an opening tag stands where a block may begin, and is not spoken of."""
    last = before[-1][1] if before else 0
    said = _end_before(text, tag.start(), last)
    if _SPOKEN_OF.match(text, tag.end()):
        return False
    if said == last:
        return True
    lines = text.count("\n", said, tag.start())
    return lines > 0 and (text[said - 1] in _ENDS or (lines > 1 and text[said - 1] != ":"))


def _closes(text: str, tag: re.Match[str]) -> bool:
    """Whether a closing tag ends thinking whose opening tag is not there."""
    if (tag["name"] or "").lower() not in _STRAY or _SPOKEN_OF.match(text, tag.end()):
        return False
    if text[max(0, tag.start() - 1) : tag.start()] in _QUOTES and text[tag.end() : tag.end() + 1] in _QUOTES:
        return False
    said = _end_before(text, tag.start(), 0)
    return said in (0, tag.start()) or text[said - 1] in _ENDS or "\n" in text[said : tag.start()]


def _end_before(text: str, offset: int, least: int) -> int:
    """The end of what stands before an offset without the white space after it."""
    while offset > least and text[offset - 1].isspace():
        offset -= 1
    return offset


def _closing(text: str, opening: re.Match[str]) -> re.Match[str] | None:
    """The tag that closes a block, which may hold other names' tags."""
    tags = TAGS.finditer(text, opening.end())
    own = (opening["name"] or "").lower()
    return next((t for t in tags if _CLOSING.match(t[0].strip()) and (t["name"] or "").lower() == own), None)


def _spaced(text: str, span: Span) -> Span:
    start, end = span
    end = _SPACE.match(text, end).end()  # type: ignore[union-attr]  # matches the empty string too
    before = _end_before(text, start, 0)
    return before if end == len(text) or not before else start, end
