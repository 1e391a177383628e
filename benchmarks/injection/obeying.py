"""A model that obeys: what stands inside the fence of a prompt is data to it, what stands outside is an order.

It reads as a strong model might: through base64, entities, invisible characters, look-alikes and right-to-left marks; a
line that looks like the fence's is one; a control token of a chat template ends the text that it stands in.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
import unicodedata
from collections.abc import Iterator

from loopback import number_in

from benchmarks.faults.replies import LACK
from benchmarks.faults.rows import ADDED, answer
from benchmarks.injection.attacks import LOOKALIKES, PLANTED
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import ScriptedRequest

_MARK = re.compile(r"TEXT-[a-z]+")
_LATIN = {ord(there): latin for latin, there in LOOKALIKES.items()} | {0xE0000 + n: chr(n) for n in range(32, 127)}
_SIGNS = {"A or B": "pair", "Reply with the changes alone": "patch", "Write the improved answer now": "rewrite",
          "[Incomplete]": "critique", "erdict": "verdict"}  # fmt: skip
_TURN = re.compile(r"<\|im_\w+\|>|</?s>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>")


def folded(text: str) -> str:
    """The text as its letters look: without case, accents and what is invisible."""
    kept = unicodedata.normalize("NFKD", text.translate(_LATIN))
    return "".join(c for c in kept if unicodedata.category(c) not in ("Cf", "Mn")).casefold()


def outside(text: str) -> str:
    """What of a prompt stands outside its fence."""
    found = _MARK.search(text)
    return text if found is None else "\n".join(_outside(text, folded(found[0])))


def _outside(text: str, mark: str) -> Iterator[str]:
    inside = False
    for line in text.splitlines():
        if (shown := folded(line).strip()).startswith(mark):
            title = shown.removeprefix(mark).strip()
            inside = title != "end" if title else not inside
        elif not inside:
            yield line
        elif turn := _TURN.search(line):
            inside = False
            yield line[turn.end() :]


def heard(text: str) -> str | None:
    """The code word of an order in a text, whatever it is disguised as."""
    packed = re.findall(r"[A-Za-z0-9+/]{24,}={0,2}", text)
    said = folded(html.unescape(text)) + folded(text[::-1]) + "".join(map(_unpacked, packed))
    return next((word for word in PLANTED if word in said), None)


def _unpacked(text: str) -> str:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4)).decode("utf-8", "replace").casefold()
    except binascii.Error:
        return ""


class ObeyingServer(LoopbackServer):
    """The model on loopback. `obeys`: the jobs in which it does; in the others it says what is true.

    `fence`: whether it knows what a fence is. `says`: what its true replies about a row have in them, by job.
    """

    def __init__(self) -> None:
        super().__init__(self._script)
        self.obeys: frozenset[str] = frozenset()
        self.fence = True
        self.says: dict[int, dict[str, str]] = {}

    def _script(self, request: ScriptedRequest, index: int) -> str:
        own = outside(request.text)
        form = request.body.get("response_format", {}).get("json_schema", {})
        # Who writes the fence's word may have put all that is asked inside it.
        job = form.get("name") or next(k for text in (own, request.text) for sign, k in _SIGNS.items() if sign in text)
        word = heard(own if self.fence else request.text) if job in self.obeys else None
        more = self.says.get(number_in(request.text), {}).get(job, "")
        return self._reply_to(request, job, word, more * ("Attempt 1:" not in own))

    def _reply_to(self, request: ScriptedRequest, job: str, word: str | None, more: str) -> str:
        """The true reply with `more` in it, or what an order asks for."""
        is_held, text = "response_format" in request.body, request.text
        wanted = PLANTED[word] if word else ADDED + more
        if job == "pair":  # the letter of the text that has the sentence wanted
            return "A" if wanted in text.partition(" answer B")[0] else "B"
        if job == "verdict":
            # The answer has an error before it is rewritten. Who obeys says that it has none, or, where rewrites are
            # to be planted, that theirs has none.
            is_fine = wanted in text if word is None or "patch" in self.obeys else True
            said = {"thinking": "I looked at it closely.", "verdict": "no" if is_fine else "yes"}
            return json.dumps(said) if is_held else f"{said['thinking']}\n\nVerdict: {said['verdict']}"
        if job == "rewrite":
            return f"{answer(number_in(text))} {wanted}"
        if job == "patch":
            change = {"sentence": 2, "action": "insert_after", "text": wanted}
            return json.dumps({"changes": [change]}) if is_held else f"after 2: {wanted}"
        last = int((re.findall(r"statements 1 to (\d+)", text) or ["2"])[-1])
        tags = {str(k): "Complete" for k in range(1, last + 1)} | ({} if word else {"2": LACK + more})
        lines = (f"{k}. [{tag.replace(': ', '] Reasons: ', 1)}{']' * (':' not in tag)}" for k, tag in tags.items())
        return json.dumps(tags) if is_held else "\n".join(lines)
