"""Cuts a text into sentences with character offsets: prompt, parser, record and report speak of the same pieces.

`sentencex` finds the sentence ends; around it stands a small pre-splitter for what it does not know: lines, list
markers and code fences. The pieces partition the text: joined, they give it back exactly, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})")
# Bullets, "1." / "1)" / "(a)" numbering, Markdown headings and quotes: what makes a line stand for itself.
_MARKER = re.compile(r"[ \t]*(?:(?:[-*+•‣▪–—]|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)]|#{1,6}|>+)[ \t]+)+")
_ENDS_LINE = re.compile(r"[.!?:;…。！？：؟۔।|][\"'”’)\]»*_`]*\s*$")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One piece of a text. `n` counts from 1; `start`, `end` are its offsets, the white space around it included."""

    n: int
    start: int
    end: int
    raw: str

    @property
    def text(self) -> str:
        """The piece without surrounding white space: what a model or a reader is shown."""
        return self.raw.strip()

    @property
    def text_start(self) -> int:
        """Offset of `text` in the original."""
        return self.start + len(self.raw) - len(self.raw.lstrip())

    @property
    def text_end(self) -> int:
        """Offset after the last character of `text` in the original."""
        return self.text_start + len(self.text)


def split_sentences(text: str, *, language: str = "en") -> tuple[Sentence, ...]:
    """The sentences of `text`, in order; `"".join(s.raw for s in result) == text` always holds.

    A line with a list marker, a heading and a fenced code block are pieces of their own; a line break inside a running
    sentence (hard-wrapped text) is not an end. White space belongs to the piece before it, at the very start to the
    first piece. A text of white space alone has no sentences only if it is empty.
    """
    pieces: list[str] = []
    for block, is_code in _blocks(text):
        for piece in [block] if is_code else _sentences(block, language):
            if pieces and (not piece.strip() or not pieces[-1].strip()):
                pieces[-1] += piece
            else:
                pieces.append(piece)
    result, at = [], 0
    for n, piece in enumerate(pieces, start=1):
        result.append(Sentence(n=n, start=at, end=at + len(piece), raw=piece))
        at += len(piece)
    return tuple(result)


def _blocks(text: str) -> Iterator[tuple[str, bool]]:
    """Runs of lines that cannot share a sentence, each with whether it is fenced code."""
    held: list[str] = []
    fence: str | None = None
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if fence is not None:
            held.append(line)
            if mark and mark.group(1).startswith(fence) and not line.strip().strip(fence[0]):
                yield "".join(held), True
                held, fence = [], None
            continue
        if held and (mark or _breaks(held[-1], line)):
            yield "".join(held), False
            held = []
        held.append(line)
        fence = mark.group(1) if mark else None
    if held:
        yield "".join(held), fence is not None


def _breaks(line: str, following: str) -> bool:
    """Whether the line break between two lines ends a sentence, as far as layout alone can tell."""
    if not line.strip() or not following.strip():
        return True
    if _MARKER.match(following) or _ENDS_LINE.search(line):
        return True
    # Hard-wrapped prose goes on in lower case after a line of some length, a list item on an indented line;
    # everything else is a line for itself.
    indented = following[0] in " \t" and _MARKER.match(line) is not None
    return not (following.lstrip()[0].islower() and (indented or len(line.strip()) >= 40))


def _sentences(block: str, language: str) -> list[str]:
    """The block's sentences as the splitter sees them, a leading list marker kept with the words that it marks."""
    import sentencex

    marker = _MARKER.match(block)
    head = marker.group(0) if marker else ""
    rest = block[len(head) :]
    if not rest.strip():
        return [block] if block else []
    pieces = list(sentencex.segment(language, rest))
    if "".join(pieces) != rest:  # the splitter lost a character (never seen, but the offsets of everything hang on it)
        pieces = [rest]
    pieces[0] = head + pieces[0]
    return pieces
