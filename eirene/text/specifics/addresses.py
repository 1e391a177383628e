"""Addresses in a text, by offsets: links, domains, e-mail, telephone numbers, handles."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eirene.text.specifics.mention import Mention
from eirene.text.unicode import UNSPACED_CLASS

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
