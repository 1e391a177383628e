"""The specifics of a text, in reading order, and an index of a text that tells whether a specific stands in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain

from eirene.text.remembered import remembered
from eirene.text.specifics.names import find_names, word_keys, words_of
from eirene.text.specifics.quotations import find_quotations, flat
from eirene.text.unicode import UNSPACED_CLASS
from eirene.text.values.mention import Mention
from eirene.text.values.reading import ValueIndex, find_values

_CHUNKS = re.compile(rf"[^\s<>\"“”|()\[\]{{}}\u3000-\u3020\uff01-\uff1f{UNSPACED_CLASS}]+")
_SCHEME = re.compile(r"^(?:https?://|ftp://|mailto:|www\.)+", re.IGNORECASE)
_MAIL = re.compile(r"^[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}$")
_HANDLE = re.compile(r"^@\w{2,40}$")
_DOMAIN = re.compile(
    r"^(?:[a-z0-9-]{1,63}\.){1,5}(?:com|org|net|edu|gov|int|info|biz|io|co|ai|app|dev|me|tv|shop|site|online|xyz|eu|uk|"
    r"us|de|fr|ru|cn|in|au|ca|nl|ch|it|es)(?:[/:?#][!-~]{0,400})?$",
    re.IGNORECASE,
)
_PHONE = re.compile(r"(?<![\w.,])(?:\+|\(?0|(?=\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}))[\d()./ -]{7,20}\d(?!\w)")
_READ = 400
"""Characters of an address that are compared."""


def find_addresses(text: str) -> Iterator[Mention]:
    """The addresses of a text, telephone numbers last."""
    if "." in text or "@" in text:
        for match in _CHUNKS.finditer(text):
            if match.end() - match.start() >= 4:
                yield from _address(text, match.start(), match.end())
    for match in _PHONE.finditer(text):
        digits = "".join(c for c in match.group() if c.isdecimal())
        if 9 <= len(digits) <= 15:
            key = frozenset([f"@:{digits}"])
            yield Mention("address", match.start(), match.end(), (key,), key)


def _address(text: str, start: int, end: int) -> Iterator[Mention]:
    chunk = text[start : min(end, start + _READ)]
    if "." not in chunk and "@" not in chunk:
        return
    body = chunk.lstrip("'‘*_(,;").rstrip(".,;:!?'’*_)…")
    start += chunk.find(body) if body else 0
    bare = _SCHEME.sub("", body)
    if bare != body or _MAIL.match(bare) or _HANDLE.match(bare) or _DOMAIN.match(bare):
        whole = bare.rstrip("/").lower()
        host = re.split(r"[/:?#]", whole, maxsplit=1)[0]
        key = frozenset([f"@:{whole}"])
        yield Mention("address", start, start + len(body), (key,), key | {f"@:{host}"})


_CACHED = 50_000
"""Characters of the longest text whose index is kept."""


@remembered(512, longest=4_000)
def find_specifics(text: str, *, english: bool = True) -> tuple[Mention, ...]:
    """The specifics of a text in reading order. Quotations may hold others; among the rest none overlap.

    Without `english` only what needs no grammar: figures, quotations, addresses.
    """
    plain = find_values(text, english=english, others=find_addresses(text))
    worded = _outside(find_names(text), plain) if english else iter(())
    return tuple(sorted(chain(find_quotations(text), plain, worded), key=lambda m: (m.start, m.end)))


def _outside(mentions: Iterator[Mention], taken: tuple[Mention, ...]) -> Iterator[Mention]:
    """Mentions that do not begin inside those taken, as the name of a month in a date would."""
    inside = {at for m in taken if m.end - m.start <= 500 for at in range(m.start, m.end)}
    return (m for m in mentions if m.start not in inside)


def keys_of(text: str, mentions: Iterable[Mention]) -> frozenset[str]:
    """The keys that a text gives, by its words and by its mentions."""
    return frozenset().union(*map(word_keys, words_of(text)), *(m.gives for m in mentions))


class SpecificsIndex(ValueIndex):
    """What a text gives: the keys of its specifics and words."""

    def _found(self) -> tuple[Mention, ...]:
        return find_specifics(self._text)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of its specifics and words."""
        return keys_of(self._text, self.mentions)

    @cached_property
    def names(self) -> frozenset[str]:
        """The keys of the words that are names for sure."""
        return frozenset().union(*(m.gives for m in self.mentions if m.kind == "name" and not m.is_weak))

    def holds(self, mention: Mention) -> bool:
        """Whether a specific stands in the text, in any spelling; a quotation word for word."""
        if mention.kind == "quotation":
            return all(part in self._flat for parts in mention.asks for part in parts)
        return super().holds(mention)

    @cached_property
    def _flat(self) -> str:
        return flat(self._text)


@remembered(512, longest=_CACHED)
def specifics_index(text: str) -> SpecificsIndex:
    """The index of a text; those of texts that are not very long are kept."""
    return SpecificsIndex(text)
