"""Sentences: cuts a text into sentences with character offsets, the same for prompt, parser, record and report.

`sentencex` finds the sentence ends; a small pre-splitter adds what it does not know: lines, list markers and structure
(`eirene.text.form`). The pieces partition the text: joined, they give it back exactly, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, pairwise

from eirene.text.abbreviations import goes_on_abroad, may_go_on
from eirene.text.cancellation import check_cancelled
from eirene.text.form import form_spans
from eirene.text.matching import Span, between
from eirene.text.remembered import remembered
from eirene.text.thinking import thinking_spans

_TABLE_ROW = re.compile(r"[ \t]*\|.*\|\s*$")
# Bullets, "1." / "1)" / "(a)" numbering, Markdown headings and quotes: such a line is a piece of its own.
_MARKER = re.compile(r"[ \t]*(?:(?:[-*+•‣▪–—]|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)]|#{1,6}|>+)[ \t]+)+")
_ENDS_LINE = re.compile(r"[.!?:;…。！？：؟۔।][\"'”’)\]»*_`]*\s*$")

_SURROGATE = re.compile("[\ud800-\udfff]")
_ODD_SPACE = re.compile(r"[^\S\x00-\x7f]")

# Belongs to a sentence end without a space: end tags, footnote marks, closing quotes, brackets, emphasis, emoji.
_CLOSERS = re.compile(
    r"(?:</\w{1,20}>|<sup>[^<]{0,20}</sup>|\[\^?\w{1,8} ?\]|\(\d{1,3}\)|[¹²³⁰⁴-⁹]+"
    r"|(?>(?:[^\w\s]|_){1,40})(?=\s|\Z)){1,40}"
)
_SPACE = re.compile(r"\s*")
_TAG = re.compile(r"</?\w{1,20} ?/?>")
# A forgotten space ("here.Then") and not a name with a dot in it ("README.Md", "x.Y", ".NET", a URL).
_WORD_THEN_END = re.compile(r"(?:[^\W\d_]{2}|\d)[\"'”’)\]]*[.?!]+$")
_NEW_WORD = re.compile(r"[\u200b\ufeff\"'“‘(\[*]*([^\W\d_])(.?)")
_NAME_CHARACTERS = frozenset("/@\\=_")
# A marker in running text ("Reasons: 1. It is cheap. 2. It lasts.") goes with the sentence that it numbers.
_INNER_MARKER = re.compile(r"(?:^|(?<=[:;])\s+)(\(?(?:\d{1,2}|[a-z])[.)]\s+)$")
# One that goes on counting in the middle of a sentence.
_NEXT_ITEM = re.compile(r"(?:[,;]|[,;]?\s(?:and|or|und|oder|et|ou|y|o|e|i|en|og|och))\s+\(?(\d{1,2}|[b-z])[.)]\s+\Z")
_ITEM = re.compile(r"(?<!\S)\(?(\d{1,2}|[a-z])[.)]\s+(?=\S)")
_COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNT = re.compile(
    rf"\b(?:the (?:following )?|these )?({'|'.join(_COUNTS)}|\d{{1,2}})\s+(?:[a-z]+\s+){{0,2}}[a-z]+:\s*\Z",
    re.IGNORECASE,
)
# Abbreviations that `sentencex` does not know, before a number or a lower-case letter.
_ABBREVIATION = re.compile(
    r"\b(?:approx|avg|ch|chap|ed|eds|eqs?|est|excl|ext|figs|incl|max|min|para|resp|sec|sect|tbsp|tsp|vol|vols|(?:\w\.)+\w)\.\s+$",
    re.IGNORECASE,
)
# Ends that it takes for an initial or an abbreviation within: units of one letter (none are in "Local 174 v. Lucas",
# "Figure 2 a. Results", "1850 d. Paris").
_END = re.compile(
    r"(?:(?:\d[ \xa0]?|\b[IVXL]+[ \xa0])(?:\w{1,4}/)?(?P<unit>(?!v\.|[abc]\.|(?<=\d{4} )d\.)[^\W\d_])[²³]?"
    r"|\b(?:ecc|enz|usw|т\.[дп]))\.\s+"
    r"(?!(?:Chr|Kr|Hr)\b|\w\.)"
)
_TITLE = re.compile(r"\b(?:Amb|Atty|Ft|Ms|Mx)\.\s+\Z")  # before a name, which it takes for a new sentence
_ENGLISH = "en"
_STRETCH = 4_000
"""Characters that `sentencex` gets at a time."""
_LONGEST = 2 * _STRETCH
"""Most characters at a time, where no sentence ends within a stretch."""
_FAR = 400
"""Characters before a marker within which the one before it is looked for."""
_WINDOW = 80
"""Characters around a cut that the rules look at, which keeps long texts linear."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One piece of a text. `n` counts from 1; `start`, `end` are its offsets with the white space around it.

    `lead`, `tail`: characters of thinking before and after what it says, with the white space beside that.
    """

    n: int
    start: int
    end: int
    raw: str
    lead: int = 0
    tail: int = 0

    @property
    def text(self) -> str:
        """The piece without surrounding white space and thinking."""
        return self.raw[self.lead : len(self.raw) - self.tail].strip()

    @property
    def text_start(self) -> int:
        """Offset of `text` in the original."""
        said = self.raw[self.lead : len(self.raw) - self.tail]
        return self.start + self.lead + len(said) - len(said.lstrip())

    @property
    def text_end(self) -> int:
        """Offset after the last character of `text` in the original."""
        return self.text_start + len(self.text)


@remembered(512, longest=8_000)
def split_sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences of `text`, in order; `"".join(s.raw for s in result) == text` always holds.

    A line with a list marker, a heading, a table row and a stretch of structure are pieces of their own; a line break
    in hard-wrapped text ends no sentence. White space belongs to the piece before it, except for a line's indentation
    and at the start of the text. Only the empty text has no sentences. Where an ordinal or an abbreviation makes it
    matter, the language is told from the text. Thinking (`eirene.text.thinking`) counts as white space around one.
    """
    blocks = thinking_spans(text)
    return _around(text, blocks) if blocks else tuple(_cut(text))


def _around(text: str, blocks: Sequence[Span]) -> tuple[Sentence, ...]:
    """The sentences of what stands around blocks of thinking; a block goes with the one before it, or the first."""
    sentences: list[Sentence] = []
    for start, end in between(blocks, len(text)):
        sentences += (replace(s, start=start + s.start, end=start + s.end) for s in _cut(text[start:end]) if s.text)
    if not sentences:
        return (Sentence(1, 0, len(text), text, lead=len(text)),)
    starts = [0, *(s.start for s in sentences[1:]), len(text)]
    return tuple(
        Sentence(n, a, b, text[a:b], lead=max(0, s.start - a), tail=b - s.end)
        for n, (s, (a, b)) in enumerate(zip(sentences, pairwise(starts), strict=True), start=1)
    )


def _cut(text: str) -> Iterator[Sentence]:
    language = cache(lambda: _language_of(text))
    starts: list[int] = []
    at, is_blank = 0, True  # is_blank: the piece so far is white space alone
    for block, is_whole in _blocks(text):
        check_cancelled()
        for piece in [block] if is_whole else _sentences(block, language):
            lead = len(piece) - len(piece.lstrip())
            if not starts:
                starts.append(0)
            elif lead < len(piece) and not is_blank:
                starts.append(at if text[at - 1] in "\r\n" else at + lead)  # an indentation stays with its line
                is_blank = True
            is_blank = is_blank and lead == len(piece)
            at += len(piece)
    for n, (start, end) in enumerate(pairwise([*starts, len(text)]), start=1):
        yield Sentence(n=n, start=start, end=end, raw=text[start:end])


def _language_of(text: str) -> str:
    from eirene.text.language import likely_code  # brings NumPy

    return likely_code(text)


def _blocks(text: str) -> Iterator[tuple[str, bool]]:
    """Runs of lines that cannot share a sentence, each with whether it stays whole (structure, a table row)."""
    at = 0
    for start, end in form_spans(text):
        yield from _runs(text[at:start])
        yield text[start:end], True
        at = end
    yield from _runs(text[at:])


def _runs(text: str) -> Iterator[tuple[str, bool]]:
    held: list[str] = []
    for line in text.splitlines(keepends=True):
        is_row = _TABLE_ROW.match(line) is not None
        if held and (is_row or _breaks(held[-1], line)):
            yield "".join(held), False
            held = []
        if is_row:
            yield line, True
        else:
            held.append(line)
    if held:
        yield "".join(held), False


def _breaks(line: str, following: str) -> bool:
    """Whether the line break between two lines ends a sentence, by layout alone."""
    if not line.strip() or not following.strip():
        return True
    if _MARKER.match(following) or _ENDS_LINE.search(line):
        return True
    # Hard-wrapped prose goes on in lower case after a line of some length, a list item on an indented line.
    indented = following[0] in " \t" and _MARKER.match(line) is not None
    return not (following.lstrip()[0].islower() and (indented or len(line.strip()) >= 40))


def _sentences(block: str, language: Callable[[], str]) -> list[str]:
    """The block's sentences, a leading list marker kept with the first.

    `language` gives the code of the text's language, which takes time: it is asked for where a cut depends on it.
    """
    marker = _MARKER.match(block)
    head = marker.group(0) if marker else ""
    rest = block[len(head) :]
    if not rest.strip():
        return [block] if block else []
    cuts, code = _found_cuts(rest, _ENGLISH), _ENGLISH
    asks = (rest[cut : cut + 1].islower() or may_go_on(rest[max(0, cut - _WINDOW) : cut]) for cut in cuts)
    if any(asks) and (code := language()) != _ENGLISH:
        cuts = _found_cuts(rest, code)
    cuts = _mend(rest, sorted({*cuts, *_further_cuts(rest)}), code)
    return [head + rest[: cuts[0]], *(rest[a:b] for a, b in pairwise([*cuts, len(rest)]))] if cuts else [block]


def _further_cuts(text: str) -> Iterator[int]:
    """Where a sentence begins that `sentencex` does not see: "14 km/h. Then"."""
    for found in _END.finditer(text):
        if (found["unit"] or "a").islower() and text[found.end() : found.end() + 1].isupper():
            yield found.end()


def _found_cuts(text: str, language: str) -> list[int]:
    """Where `sentencex` begins a new sentence, as offsets above 0.

    Its time is quadratic, so a long text goes through it in stretches. The last sentence of a stretch may be cut off,
    and opens the next stretch, unless it fills the longest one.
    """
    plain = _SURROGATE.sub("\ufffd", text)  # it takes no lone surrogates
    cuts: list[int] = []
    at, stretch = 0, _STRETCH
    while at < len(plain):
        part = plain[at : at + stretch]
        is_last = at + stretch >= len(plain)
        pieces = _segmented(part, language)
        if sum(map(len, pieces)) != len(part):  # a character was lost: never seen, but all offsets depend on it
            pieces = [part]
        inner = [at + end for end in accumulate(map(len, pieces))][:-1]
        cuts += inner
        if is_last:
            break
        if inner:
            at, stretch = inner[-1], _STRETCH
        elif stretch < _LONGEST:
            stretch *= 2
        else:
            at += _LONGEST - _STRETCH
    return cuts


def _segmented(part: str, language: str) -> list[str]:
    """The pieces of `sentencex`, which panics at some no-break spaces: those are then shown to it as plain ones."""
    import sentencex

    try:
        return list(sentencex.segment(language, part))
    except BaseException as panic:  # no subclass of Exception
        if type(panic).__name__ != "PanicException":
            raise
    cut, at = [], 0
    for piece in sentencex.segment(language, _ODD_SPACE.sub(" ", part)):
        cut.append(part[at : at + len(piece)])
        at += len(piece)
    return cut


def _mend(text: str, cuts: list[int], language: str) -> list[int]:
    """The cuts that split no name or abbreviation, moved to after white space and closing marks."""
    mended: list[int] = []
    passed = 0  # the end of the last run of white space: all cuts inside it move there
    for found in cuts:
        cut, previous = found, mended[-1] if mended else 0
        if cut <= previous or (cut <= passed and text[cut - 1].isspace()):
            continue
        if not text[cut - 1].isspace():
            closers = _CLOSERS.match(text, cut)
            if closers and closers.group().endswith((",", ";", ":")):
                continue
            if closers:
                cut = closers.end()
            elif _tears_a_name(text, cut):
                continue
        cut = _SPACE.match(text, cut).end()  # type: ignore[union-attr]  # matches the empty string too
        passed = cut
        before = text[max(previous, cut - _WINDOW) : cut]
        marker = _INNER_MARKER.search(before)
        if _counts_on(text[max(previous, cut - _FAR) : cut]):
            continue
        if marker and marker.start() and text[cut : cut + 1].islower():  # "three things: 1. a rope"
            continue
        if marker:
            cut -= len(marker.group(1))
        elif _goes_on(before, text[cut : cut + _WINDOW], language):
            continue
        if previous < cut < len(text):
            mended.append(cut)
    return mended


def _counts_on(before: str) -> bool:
    """Whether the marker at the end goes on counting within its sentence: "1. a rope, 2. a lamp and 3."."""
    found = _NEXT_ITEM.search(before)
    if found is None:
        return False
    name = found[1]
    last = str(int(name) - 1) if name.isdecimal() else chr(ord(name) - 1)
    return re.search(rf"(?<![\w.]){last}[.)]\s", before[: found.start()]) is not None


def without_list_markers(sentence: str) -> str:
    """A sentence without the markers of a list within it, and without words that only count its items.

    "They saw a fox and an owl." for "They saw two animals: 1. a fox and 2. an owl."
    """
    found: list[re.Match[str]] = []
    for marker in _ITEM.finditer(sentence):
        name = marker[1]
        if name == (chr(ord("a") + len(found)) if name.isalpha() else str(len(found) + 1)):
            found.append(marker)
    if len(found) < 2:
        return sentence
    for marker in reversed(found):
        sentence = sentence[: marker.start()] + sentence[marker.end() :]
    at = found[0].start()
    counted = _COUNT.search(sentence[:at])
    told = counted is not None and (_COUNTS.index(counted[1].lower()) if counted[1].isalpha() else int(counted[1]))
    return sentence[: counted.start()] + sentence[at:] if counted and told == len(found) else sentence


def _tears_a_name(text: str, cut: int) -> bool:
    """Whether a cut without white space on either side lies in a URL, a path, a file or product name."""
    if text[cut - 1] not in ".?!" or text[cut : cut + 1].isspace():
        return False
    left = _TAG.sub("", re.split(r"\s", text[max(0, cut - _WINDOW) : cut])[-1])
    right = _TAG.sub("", re.split(r"\s", text[cut : cut + _WINDOW])[0])
    word = _NEW_WORD.match(right)
    if word is None or not _WORD_THEN_END.search(left) or _NAME_CHARACTERS & {*left, *right}:
        return True
    first, second = word.groups()
    is_capitalised = not first.islower() and not second.isupper()
    return not is_capitalised or re.search(r"\w[.?!]\w", left) is not None or re.search(r"\w[.?!]\w", right) is not None


def _goes_on(before: str, following: str, language: str) -> bool:
    """Whether the sentence goes on after an apparent end: an abbreviation, an ordinal, a Japanese quotation."""
    if _TITLE.search(before) or (language != _ENGLISH and goes_on_abroad(before, following, language)):
        return True
    if following[:1].isdecimal() or following[:1].islower():
        return _ABBREVIATION.search(before) is not None
    return following.startswith("と") and before.endswith("」")
