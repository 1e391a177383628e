"""Keys do not stand in messages: known ones in any writing and cut, unknown ones by their looks."""

from __future__ import annotations

import base64
import html
import json
from typing import Any
from urllib.parse import quote

import pytest
from langchain_core.language_models import ParrotFakeChatModel
from pydantic import SecretStr

from eirene.models.redaction import (
    HIDDEN,
    NO_KEY,
    RedactedError,
    redacted,
    redacted_error,
    secrets_of,
    secrets_sent,
    shown_address,
    without_keys,
)

KEY = 'local+CANARY/7"7&=%xyzzy'


A_KNOWN_KEY_IS: list[Any] = [
    KEY,
    KEY[:12] + "...",
    "..." + KEY[-8:],
    KEY.upper(),
    repr(KEY),
    json.dumps({"key": KEY}),
    quote(KEY, safe=""),
    quote(KEY, safe="").lower(),
    base64.b64encode(KEY.encode()).decode(),
    base64.b64encode(b"user:" + KEY.encode()).decode(),
    base64.b64encode(b"Bearer " + KEY.encode()).decode(),
    f"a{KEY}b",
    f"{KEY}\ud800",
    html.escape(KEY),
]


def test_a_known_key_is_hidden_however_it_is_written() -> None:
    for written in A_KNOWN_KEY_IS:
        said = redacted(f"the key {written} is wrong", {KEY})
        assert said.startswith("the key ") and said.endswith(" is wrong") and HIDDEN in said
        assert not any(KEY[i : i + 6].lower() in said.lower() for i in range(len(KEY) - 5))
        said.encode("utf-8")


WHAT_LOOKS_LIKE_A: list[Any] = [
    ("Incorrect API key provided: sk-pr********wxyz.", f"Incorrect API key provided: {HIDDEN}"),
    ("no access for sk-ant-api03-AbC", f"no access for {HIDDEN}"),
    ("no access for sk%2Dproj%2DAbCdEf", f"no access for {HIDDEN}"),
    ("AIzaSyA1234567890 is not enabled", f"{HIDDEN} is not enabled"),
    ("hf_AbCdEfGhIjKlMnOp", HIDDEN),
    ("gsk_1AbCdEfGhIjKlMnOp", HIDDEN),
    ("sent: Bearer abc123def", f"sent: Bearer {HIDDEN}"),
    ("Authorization: Basic dXNlcjpwdzEyMw==", f"Authorization: Basic {HIDDEN}"),
    ("{'api-key': '0123456789abcdef'}", f"{{'api-key': '{HIDDEN}'}}"),
    ("x-api-key=0123456789abcdef", f"x-api-key={HIDDEN}"),
    (
        "for url 'https://me:pw@h/v1?api-version=1&key=abc&n=2'",
        f"for url 'https://{HIDDEN}@h/v1?api-version=1&key={HIDDEN}&n=2'",
    ),
]


def test_what_looks_like_a_key_is_hidden_without_being_known() -> None:
    for text, said in WHAT_LOOKS_LIKE_A:
        assert redacted(text) == said


PLAIN_WORDS_STAY: list[Any] = [
    "Incorrect API key provided",
    "the model 'gpt-4o-mini' does not exist",
    "unknown field 'n'; max_tokens must be at least 1",
    "risk-averse, task-specific, scikit-learn and sk-learn",
    "hf_hub_download with basic authentication, bearer of bad news",
    "see https://example.org/docs?page=2#keys",
]


def test_plain_words_stay() -> None:
    for text in PLAIN_WORDS_STAY:
        assert redacted(text, {"x", NO_KEY, "0123456789"}) == text


def test_a_key_is_hidden_as_a_message_or_an_address_writes_it() -> None:
    """Bytes that are no text, blanks; a short one as a word alone."""
    for text, key, said in (
        ("the key CANARY\udcff7xyzzy is wrong", "CANARY\udcff7xyzzy", f"the key {HIDDEN} is wrong"),
        ("pw12 is no password, pw123 is", "pw12", f"{HIDDEN} is no password, pw123 is"),
        ("(a%20b%2Fc%20d%2Fe)", "a b/c d/e", f"({HIDDEN})"),
        ("(a+b%2Fc+d%2Fe)", "a b/c d/e", f"({HIDDEN})"),
        ("(a%20b/c%20d/e)", "a b/c d/e", f"({HIDDEN})"),
    ):
        assert redacted(text, {key}) == said


def test_a_request_shows_the_keys_that_it_carries() -> None:
    basic = "Basic " + base64.b64encode(b"user:hunter22").decode()
    headers = [
        ("Authorization", "Bearer first-key"),
        ("api-key", "second-key"),
        ("X-Gate", "third-key"),
        ("Proxy-Authorization", basic),
        ("Content-Type", "application/json"),
        ("Cookie", "s=fourth"),
    ]
    found = secrets_sent("http://me:fifth%21@host/v1?sig=sixth&api-version=2024", headers)
    assert found >= {"first-key", "second-key", "third-key", "hunter22", "s=fourth", "fifth!", "sixth"}
    assert not found & {"application/json", "2024"}
    assert secrets_sent("http://host", [("api-key", "1234"), ("X-Short", "123"), ("X-None", NO_KEY)]) == {"1234"}
    assert secrets_sent("http://host:port]", [("Authorization", "Basic no-base64"), ("X", "one")]) == {"no-base64"}


def test_an_address_is_shown_without_what_opens_it() -> None:
    assert shown_address("http://me:p@ss@host:8080/v1/x?sig=sixth#part") == "http://host:8080/v1/x"
    assert shown_address("http://host/fifth-key/v1?key=fifth-key") == f"http://host/{HIDDEN}/v1"
    assert shown_address("http://[host") == HIDDEN


def test_of_a_reply_each_whole_key_is_hidden() -> None:
    """The longest first; as JSON writes it too; one that is short, or that no header of a key sent, stays."""
    long, short = "0-abcdefgh/ijklmnop", "abcdefgh/ijklmnop"
    headers = [
        ("api-key", long),
        ("Authorization", f"Bearer {short}"),
        ("X-Token", "fifteen-letters"),
        ("X-Gate", "the-name-of-a-place"),
        ("X-Secret", 'quoted"key-012345'),
        ("X-Key", "CANARY\udcff7xyzzy-01"),
    ]
    for body, said in (
        (f"{long} {short}", f"{HIDDEN} {HIDDEN}"),
        (long.replace("/", "\\/"), HIDDEN),
        ('{"a": "quoted\\"key-012345"}', f'{{"a": "{HIDDEN}"}}'),
        ("me-and-my-password, sixteen-letters!", f"{HIDDEN}, {HIDDEN}"),
        ("fifteen-letters the-name-of-a-place", "fifteen-letters the-name-of-a-place"),
        ("CANARY?7xyzzy-01", HIDDEN),
    ):
        url = "http://user:me-and-my-password@host/?sig=sixteen-letters!"
        assert without_keys(body.encode(), url, headers) == said.encode()


def test_a_model_shows_the_keys_that_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    class Model(ParrotFakeChatModel):
        token: SecretStr = SecretStr("first-key")
        default_headers: Any
        default_query: Any
        base_url: str = "https://me:fourth@host/v1"
        cookies: Any
        extra_body: Any

    monkeypatch.setenv("SOME_API_KEY", "fifth-key")
    monkeypatch.setenv("SOME_NAME", "my-name")
    model = Model(
        default_headers={"X-Gate": "second-key", "Accept": "text/plain", "X-Retries": 12345},
        default_query={"sig": SecretStr("third-key"), "api": "sixth-key"},
        cookies={"session": "seventh-key"},
        extra_body={"style": "plain-words", "pass": SecretStr("eighth-key")},
    )
    found = secrets_of(model)
    assert found >= {f"{nth}-key" for nth in ("first", "second", "third", "fifth", "sixth", "seventh", "eighth")}
    assert "fourth" in found and not found & {"text/plain", "plain-words", "my-name"}


def grouped() -> Exception:
    return ExceptionGroup("several", [ValueError(KEY)])


def noted() -> Exception:
    error = ValueError("no")
    error.add_note(f"sent: {KEY}")
    return error


def caused() -> Exception:
    error = ValueError("no")
    error.__cause__ = KeyError("x")
    error.__cause__.__context__ = RuntimeError(f"sent: {KEY}")
    return error


def far_below() -> Exception:
    error = last = ValueError("no")
    for _ in range(200):
        last.__cause__ = last = ValueError("no")
    last.__cause__ = RuntimeError(KEY)
    return error


AN_EXCEPTION_THAT_SHOWS: list[Any] = [grouped, noted, caused, far_below, lambda: RuntimeError(KEY)]


def test_an_exception_that_shows_a_key_anywhere_is_replaced() -> None:
    """One that shows none stays itself."""
    plain = ValueError("no such model")
    assert redacted_error(plain, {KEY}) is plain
    for make in AN_EXCEPTION_THAT_SHOWS:
        error = make()
        found = redacted_error(error, {KEY})
        assert isinstance(found, RedactedError)
        assert type(error).__name__ in str(found) and "CANARY" not in str(found)
        assert (found.__cause__, found.__context__) == (None, None)
    try:
        raise RuntimeError(KEY)
    except RuntimeError as error:
        assert redacted_error(error, {KEY}).__traceback__ is error.__traceback__
