"""The scripted server of the peers benchmark, with OpenAI's protocol: replies in the form that each client asks for.

A critique comes by JSON schema, as a JSON object, between dspy's field marks or as Eirene's lines, whatever the request
wants; its content follows from row and index alone. Warm-up rows are left out of the counts. Tokens are those of the
shipped encoder's WordPiece tokenizer, of messages, schemas and tools, and of replies: the same for all, and like no
provider's in particular.
"""

from __future__ import annotations

import json
from typing import Any

from loopback import number_in
from rows import WARM_FROM, critique, rewrite
from tokenizers import Tokenizer

from eirene.models.encoder import runtime
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import ScriptedRequest

ASKS_FOR_REWRITE = "Write the improved answer now"
"""Words that every contender's prompt for a rewrite has, and no other prompt."""
STATEMENTS = 5


def reply(request: ScriptedRequest, index: int) -> str:
    """The text of one choice."""
    n = number_in(request.text)
    is_dspy = "[[ ## " in request.text
    if ASKS_FOR_REWRITE in request.text:
        return _marked("improved_answer", rewrite(n)) if is_dspy else rewrite(n)
    found = critique(n, index)
    form = request.body.get("response_format") or {}
    schema = form.get("json_schema", {}).get("schema", {})
    if "1" in schema.get("properties", {}):
        return json.dumps({str(at): _entry(found.get(at)) for at in range(1, STATEMENTS + 1)})
    entries = [{"n": at, "complete": at not in found, "reason": found.get(at, "")} for at in range(1, STATEMENTS + 1)]
    if is_dspy:
        return _marked("statements", json.dumps(entries))
    if form:
        return json.dumps({"statements": entries})
    return "\n".join(_line(at, found.get(at)) for at in range(1, STATEMENTS + 1))


def _marked(field: str, text: str) -> str:
    return f"[[ ## {field} ## ]]\n{text}\n\n[[ ## completed ## ]]"


def _entry(reason: str | None) -> dict[str, str]:
    return {"tag": "Complete"} if reason is None else {"tag": "Incomplete", "reason": reason}


def _line(at: int, reason: str | None) -> str:
    return f"{at}. [Complete]" if reason is None else f"{at}. [Incomplete] Reasons: {reason}"


def counts(server: LoopbackServer) -> dict[str, int]:
    """Requests and tokens about rows that count."""
    tokenizer = Tokenizer.from_file(str(runtime.WEIGHTS / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def tokens(texts: list[str]) -> int:
        return sum(len(found.ids) for found in tokenizer.encode_batch(texts, add_special_tokens=False))

    kept = [request for request in server.requests if number_in(request.text) < WARM_FROM]
    read = [_shown(request.body) for request in kept]
    written = [reply(request, index) for request in kept for index in range(request.n)]
    return {"requests": len(kept), "tokens_in": tokens(read), "tokens_out": tokens(written),
            "most_under_way": server.most_under_way}  # fmt: skip


def _shown(body: dict[str, Any]) -> str:
    """What a model is shown of a request: its messages, and the schemas that go with them."""
    texts = [str(message.get("content", "")) for message in body["messages"]]
    schemas = [json.dumps(body[field]) for field in ("response_format", "tools") if body.get(field)]
    return "\n".join(texts + schemas)
