"""Fields of messages and requests that the server does not know, or knows under two names, through a real upstream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import HttpError, RawReply, ScriptedReply, ScriptedRequest, TextReply
from tests.agent.server.serving import ASK, DRAFT, GIVEN, MODEL, Served, embedded_engine, served
from tests.rows import each

pytestmark = pytest.mark.usefixtures("loopback")

THOUGHTS: dict[str, Any] = {
    "reasoning_content": "Both sides, then.", "reasoning": "Short.", "annotations": [], "reasoning_details": [{"n": 1}],
}  # fmt: skip
ODD_ARGUMENTS: list[Any] = [
    "",
    " ",
    "null",
    "[1, 2]",
    "7",
    '"now"',
    '{"zone": "U',
    "no JSON",
    "[" * 9999,
    None,
    [],
    [1],
    7,
]


ELSEWHERE = """
    api_base api_key api_version apiKey base_url baseURL user_config fallbacks context_window_fallbacks extra_headers
    headers extra_body extra_query model_list models provider route custom_llm_provider organization mock_response
    aws_sts_endpoint aws_access_key_id azure_ad_token vertex_credentials litellm_credential_name deployment_id
    langfuse_host langfuse_secret_key success_callback kv_transfer_params bootstrap_host lora_path callbacks
    input_cost_per_token provider_specific_header gcs_bucket_name plugins region_name proxy_server_request tags
"""
"""Fields by which LiteLLM, OpenRouter, vLLM and SGLang would send a chat elsewhere, or take a key."""
CITED = {"type": "url_citation", "url_citation": {"start_index": 0, "end_index": 10, "url": "https://a.b"}}
TOOL = {"id": "c9", "type": "function", "function": {"name": "now", "arguments": '{"a":1.0 }'}, "index": 0}
ODD_CALLS: list[dict[str, Any]] = [
    *({"id": "c", "type": "function", "function": {"name": "f", "arguments": odd}} for odd in ODD_ARGUMENTS),
    {"id": "c", "type": "custom", "custom": {"name": "f", "input": "5"}},
]
ODD_CHOICE = {"message": {"content": None, "tool_calls": ODD_CALLS}, "finish_reason": "tool_calls"}
REPLIES: dict[str, ScriptedReply] = {
    "cite": TextReply(DRAFT, fields={"annotations": [CITED]}),
    "call": TextReply("", "tool_calls", fields={"content": None, "tool_calls": [TOOL], **THOUGHTS}),
    "call as before": TextReply(
        "", "function_call", fields={"content": None, "function_call": {"name": "now", "arguments": ""}}
    ),
    "count": TextReply(DRAFT, logprobs={"content": [{"token": "S", "logprob": -1.0, "top_logprobs": []}]}),
    "odd": RawReply.body([json.dumps({"kind": 1, "citations": ["a.b"], "choices": [ODD_CHOICE]}).encode()]),
}


def script(request: ScriptedRequest, n: int) -> ScriptedReply:
    """The reply that the field `user` names, or a refusal with it for a body; without it thoughts, and an answer."""
    named = request.body.get("user")
    if named is None:
        return TextReply(DRAFT, fields=THOUGHTS)
    return REPLIES.get(named) or RawReply.body([named.encode()], status=422)


@pytest.fixture
def upstream() -> Iterator[LoopbackServer]:
    with LoopbackServer(script) as server:
        yield server


@pytest.fixture
def server(upstream: LoopbackServer) -> Iterator[Served]:
    with served(embedded_engine(upstream)) as running:
        yield running


def post(server: Served, **body: Any) -> httpx.Response:
    asked = {"model": "draft/test", "messages": ASK, **body}
    return httpx.post(f"{server.root}/v1/chat/completions", json=asked, timeout=60)


def message(server: Served, **body: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {"model": "draft/test", "messages": ASK, **body}
    own = {name: asked.pop(name) for name in [*asked] if name not in ("model", "messages")}
    found: dict[str, Any] = json.loads(
        server.client().chat.completions.with_raw_response.create(**asked, extra_body=own).content
    )["choices"][0]["message"]
    return found


def called(arguments: Any) -> list[dict[str, Any]]:
    call = {"id": "t1", "type": "function", "function": {"name": "now", "arguments": arguments}}
    return [
        *ASK,
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "The clock.", "x": {"y": 1}},
        {"role": "tool", "tool_call_id": "t1", "content": "12:30", "name": "now"},
    ]


def test_no_arguments_of_a_call_block_a_chat(server: Served, upstream: LoopbackServer) -> None:
    """They reach the upstream as they came, and a chat that ends in a draft is refined behind them."""
    for arguments in ODD_ARGUMENTS:
        messages = called(arguments)
        message(server, messages=messages)
        assert upstream.requests[-1].body["messages"] == messages
        said = [*messages, {"role": "assistant", "content": DRAFT}]
        assert "suffer" in message(server, model=MODEL, messages=said, **GIVEN)["content"]


def test_an_answer_to_a_call_may_lack_its_number(server: Served, upstream: LoopbackServer) -> None:
    messages = [*called("{}")[:-1], {"role": "tool", "content": "12:30"}]
    message(server, messages=messages)
    assert upstream.requests[-1].body["messages"] == messages


@pytest.mark.parametrize("model", ["draft/test", MODEL])
def test_thoughts_come_with_the_reply_whole_and_streamed(server: Served, model: str) -> None:
    found = message(server, model=model, **GIVEN)
    assert {name: found.get(name) for name in THOUGHTS} == THOUGHTS
    assert ("suffer" in found["content"]) == (model == MODEL)
    chunks: list[Any] = list(
        server.client().chat.completions.create(model=model, messages=ASK, stream=True, extra_body=GIVEN)
    )
    deltas = [chunk.choices[0].delta.model_dump(exclude_unset=True) for chunk in chunks]
    assert {name: value for delta in deltas for name, value in delta.items() if name in THOUGHTS} == THOUGHTS
    assert "".join(delta.get("content") or "" for delta in deltas) == found["content"]


def test_the_history_keeps_what_the_client_says_of_it(server: Served, upstream: LoopbackServer) -> None:
    call = {"name": "now", "arguments": ""}
    before = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "When?", "name": "ann", "cache_control": {"type": "ephemeral"}},
        {"role": "assistant", "content": None, "function_call": call, "reasoning": "Which clock?"},
        {"role": "function", "name": "now", "content": "12:30"},
        {"role": "assistant", "content": "At 12:30.", "reasoning_content": "Half past.", "annotations": []},
    ]  # fmt: skip
    taken: dict[str, Any] = {
        "top_k": 3, "logit_bias": {"5": 1}, "max_completion_tokens": 50, "guided_regex": "a+", "stop_token_ids": [1],
        "prompt_cache_key": "c", "min_tokens": 1, "web_search_options": {}, "chat_template_kwargs": {"a": 1},
    }  # fmt: skip
    message(server, messages=[*before, *ASK], **taken, **dict.fromkeys(ELSEWHERE.split(), "x"))
    body = upstream.requests[-1].body
    assert body["messages"] == [*before, *ASK]
    assert {name: body.get(name) for name in taken} == taken
    assert not {"max_tokens", *ELSEWHERE.split()} & set(body)


def test_a_draft_of_the_clients_keeps_its_thoughts(server: Served) -> None:
    draft = {"role": "assistant", "content": DRAFT, "reasoning_content": "Half of it."}
    found = message(server, model=MODEL, messages=[*ASK, draft], **GIVEN)
    assert "suffer" in found["content"]
    assert found["reasoning_content"] == "Half of it."


def test_a_reply_with_citations_stays_as_it_is(server: Served) -> None:
    """Their places are counted in its characters."""
    found = message(server, model=MODEL, user="cite", **GIVEN)
    assert found["content"] == DRAFT
    assert found["annotations"][0]["url_citation"]["end_index"] == 10


def test_calls_come_as_the_model_wrote_them(server: Served) -> None:
    found = message(server, user="call")
    assert found["content"] is None
    assert found["tool_calls"][0]["function"] == {"name": "now", "arguments": '{"a":1.0 }'}
    assert found["reasoning_content"] == THOUGHTS["reasoning_content"]
    chunks: list[Any] = list(
        server.client().chat.completions.create(
            model=MODEL, messages=ASK, stream=True, extra_body={**GIVEN, "user": "call as before"}
        )
    )
    calls = [chunk.choices[0].delta.function_call for chunk in chunks if chunk.choices[0].delta.function_call]
    assert [(call.name, call.arguments) for call in calls] == [("now", "")]
    assert chunks[-1].choices[0].finish_reason == "function_call"


def test_a_reply_of_an_odd_form_comes_as_it_is(server: Served) -> None:
    """Arguments that are no object, calls of other types, no role, no id, fields beside the choices."""
    whole = post(server, model=MODEL, user="odd", **GIVEN).json()
    assert whole["choices"][0]["message"]["tool_calls"] == ODD_CALLS
    assert (whole["citations"], whole["kind"], whole["eirene"]["status"]) == (["a.b"], 1, "untouched")
    last = post(server, user="odd", stream=True).text.splitlines()[-4]
    assert json.loads(last.removeprefix("data: "))["citations"] == ["a.b"]


def test_log_probabilities_come_unless_the_text_is_another(server: Served) -> None:
    kept, rewritten = (
        post(server, model=model, user="count", logprobs=True, **GIVEN) for model in ("draft/test", MODEL)
    )
    assert kept.json()["choices"][0]["logprobs"]["content"][0]["token"] == "S"
    assert rewritten.json()["choices"][0]["logprobs"] is None


def test_a_refusal_tells_the_client_why(server: Served) -> None:
    for body, cause in (
        ({"error": {"message": "top_k must be below 9", "type": "bad"}}, "top_k must be below 9"),
        ({"detail": [{"loc": ["body", "top_k"], "msg": "Extra inputs are not permitted"}]}, "body.top_k: Extra inputs"),
        ({"detail": "top_k is not for this model, sk-abcdef0123456789"}, "not for this model, [redacted]"),
        ({"message": "no top_k here", "object": "error"}, "no top_k here"),
        ({"error": "no top_k here"}, "no top_k here"),
        ("no top_k here", "no top_k here"),
    ):
        reply = post(server, user=json.dumps(body), top_k=99)
        assert (reply.status_code, reply.json()["error"]["code"]) == (422, "upstream_refused")
        assert cause in reply.json()["error"]["message"]
        assert "sk-abcdef" not in reply.text


UNKNOWN: dict[str, Any] = {
    "max_tokens": HttpError(
        400, "Unsupported parameter: 'max_tokens' is not supported here. Use 'max_completion_tokens' instead.",
        param="max_tokens",
    ),
    "max_completion_tokens": HttpError(422, "body.max_completion_tokens: Extra inputs are not permitted"),
}  # fmt: skip


@each("refused, taken", [tuple(UNKNOWN), tuple(reversed(UNKNOWN))])
def test_the_other_name_of_a_limit_is_tried_and_remembered(refused: str, taken: str) -> None:
    def picky(request: ScriptedRequest, n: int) -> ScriptedReply:
        return UNKNOWN[refused] if refused in request.body else DRAFT

    with LoopbackServer(picky) as up, served(embedded_engine(up)) as server:
        for _ in range(2):
            message(server, **{refused: 40})
        assert [(r.body.get(refused), r.body.get(taken)) for r in up.requests] == [(40, None), (None, 40), (None, 40)]


def test_a_limit_that_is_too_high_is_the_clients_to_mend() -> None:
    """Under another name a lenient server would pass over it."""
    too_high = HttpError(400, "max_tokens is too large: 99999. This model supports at most 4096.", param="max_tokens")
    with LoopbackServer(lambda r, n: too_high) as up, served(embedded_engine(up)) as server:
        reply = post(server, max_tokens=99999)
        assert (reply.status_code, up.calls) == (400, 1)
        assert "at most 4096" in reply.json()["error"]["message"]


def test_a_model_without_system_messages_is_told_by_the_user() -> None:
    def gemma(request: ScriptedRequest, n: int) -> ScriptedReply:
        has_system = any(turn["role"] == "system" for turn in request.body["messages"])
        return HttpError(400, "System role not supported") if has_system else DRAFT

    system = {"role": "system", "content": "Be brief."}
    parts = [{"type": "text", "text": "Why?"}]
    with LoopbackServer(gemma) as up, served(embedded_engine(up)) as server:
        message(server, messages=[system, *ASK])
        message(server, messages=[system, {"role": "user", "content": parts}])
        said = [request.body["messages"] for request in up.requests[1:]]
    assert said == [
        [{"role": "user", "content": f"Be brief.\n\n{ASK[0]['content']}"}],
        [{"role": "user", "content": [{"type": "text", "text": "Be brief."}, *parts]}],
    ]
