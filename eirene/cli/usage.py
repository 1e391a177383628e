"""What is said of a command line that cannot be used: Typer's words, but for those of the library that reads values."""

from __future__ import annotations

import re

import typer

_PYDANTICS = re.compile(r"\A(Invalid value for [^:]*: )(?:Value error|Assertion failed), ")
_WANTED = {"int": "an integer", "float": "a number", "bool": "true or false"}


def usage_problem(error: typer.TyperException) -> str:
    """One sentence: the flag, what came, what was wanted. Empty for a group without a command, which shows its help."""
    flag = getattr(getattr(error, "param", None), "opts", None)
    problems = getattr(error.__cause__, "errors", None)  # pydantic's, which is not imported for this
    if flag and callable(problems):
        problem = problems(include_url=False)[0]
        wanted = _WANTED.get(str(problem["type"]).partition("_")[0])
        rule = f"be {wanted}" if wanted else str(problem["msg"]).removeprefix("Input should ")
        if rule != problem["msg"]:
            return f"{flag[0]!r} must {rule}, got {str(problem['input'])[:200]!r}"
    text = _PYDANTICS.sub(r"\1", " ".join(error.format_message().split()))
    return text[:1].lower() + text[1:]
