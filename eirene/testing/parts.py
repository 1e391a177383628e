"""Scripted parts put together: a whole loop for tests and documentation in which every reply is known beforehand.

A feedback model that reads its samples off a script, for tests and documentation. No model stands behind it.

A refiner that reads its rewrites off a script, for tests and documentation. No model stands behind it.

A detector that looks its scores up in a table: for tests and documentation. Nothing is measured.

A judge by script that believes everything it is told: for tests of what the fence is worth. No model is called.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from eirene.agent.state import Parts
from eirene.core.critique import Sample
from eirene.core.errors import BackendError, ScriptExhaustedError
from eirene.core.scores import Scores
from eirene.core.usage import Meter, Usage
from eirene.eval.base import NOTHING, Case, Need
from eirene.feedback_model.base import FeedbackRequest
from eirene.refiners.base import RefineTask

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage


def scripted_parts(
    *,
    samples: Sequence[Sample | BackendError] = (),
    rewrites: Sequence[str | BackendError] = (),
    scores: Mapping[str, Scores | BackendError] | None = None,
) -> Parts:
    """Parts that give the scripted samples, rewrites and scores (by answer), in this order."""
    return Parts(
        backend="scripted",
        feedback_model=ScriptedFeedback(samples),
        refiner=ScriptedRefiner(rewrites),
        detectors=(ScriptedDetector(scores or {}),),
    )


class ScriptedFeedback:
    """Yields the scripted samples one after the other, over all requests; an exception in the script is raised.

    Records its requests in `requests`. Raises `ScriptExhaustedError` when more is asked for than the script holds.
    """

    name = "scripted"

    def __init__(self, samples: Sequence[Sample | BackendError]) -> None:
        self._left = list(samples)
        self.requests: list[FeedbackRequest] = []

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        """The next `count` samples of the script; each counts as one call."""
        self.requests.append(request)
        for n in range(count):
            if not self._left:
                raise ScriptExhaustedError(f"the script has no sample for number {start + n + 1} of this request")
            meter.add(Usage(calls=1))
            step = self._left.pop(0)
            if isinstance(step, BackendError):
                raise step
            yield step


class ScriptedRefiner:
    """Returns the scripted rewrites one after the other; an exception in the script is raised.

    Records its tasks in `tasks`. Raises `ScriptExhaustedError` when it is called more often than the script is long.
    """

    name = "scripted"

    def __init__(self, rewrites: Sequence[str | BackendError]) -> None:
        self._left = list(rewrites)
        self.tasks: list[RefineTask] = []

    async def refine(self, task: RefineTask, *, meter: Meter) -> str:
        """The next rewrite of the script; counts as one call."""
        self.tasks.append(task)
        if not self._left:
            raise ScriptExhaustedError(f"the script has no rewrite for call {len(self.tasks)}")
        meter.add(Usage(calls=1))
        step = self._left.pop(0)
        if isinstance(step, BackendError):
            raise step
        return step


class ScriptedDetector:
    """Gives each answer the scores that the table holds for it; an answer that is not there is unscored.

    Records its cases in `cases`. An exception in the table is raised.
    """

    version = "scripted"

    def __init__(
        self,
        table: Mapping[str, Scores | BackendError],
        *,
        name: str = "scripted",
        needs: frozenset[Need] = NOTHING,
    ) -> None:
        self.name = name
        self.needs = needs
        self._table = dict(table)
        self.cases: list[Case] = []

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of `case.answer` in the table."""
        self.cases.append(case)
        found = self._table.get(case.answer, Scores.none("not in the script"))
        if isinstance(found, BackendError):
            raise found
        return found


_ANNOUNCED = re.compile(r"begin with the word (\S+)[,;.]")
_TURN = re.compile(r"<\|[^<>\s]{1,60}\|>|</s>|\[/?INST\]|</?think>|<(?:start|end)_of_turn>", re.IGNORECASE)
_ORDER = re.compile(
    r"\b(?:say|answer|reply|respond|write|output|return|conclude|vote|print|report|choose|verdict|judge?ment|rule|"
    r"decide|declare|state)\b.{0,100}?\b(yes|no)\b(?=[\"'`.,!;:)\]}*]|\s*$)",
    re.IGNORECASE,
)
_WORD = re.compile(r"\b(yes|no)\b", re.IGNORECASE)


class ScriptedGullibleJudge:
    """Votes as `judge` says of the sections in the fence, unless a line outside the fence orders a verdict: then so.

    The fence is what the prompt announces: from the first line that begins with the announced word to the line that
    says "end" after it. A control word of a chat format, where it is whole, ends the user's turn, and what follows is
    outside. A line with both words is no order but the description of the reply's form. The last order wins. Fit to be
    the script of a `ScriptedChatModel`; `reply` is for a loopback server.
    """

    def __init__(self, judge: Callable[[dict[str, str]], bool]) -> None:
        self._judge = judge

    def __call__(self, messages: Sequence[BaseMessage]) -> str:
        """The reply to a chat."""
        return self.reply("\n".join(str(m.text) for m in messages))

    def reply(self, text: str) -> str:
        """The reply to the text of a whole request."""
        sections, outside = self.read(text)
        orders = [found for line in outside for found in [_order(line)] if found is not None]
        verdict = orders[-1] if orders else self._judge(sections)
        why = "I was told so." if orders else "I have compared each claim with what was given."
        return f"{why}\n\nVerdict: {'yes' if verdict else 'no'}"

    def read(self, text: str) -> tuple[dict[str, str], list[str]]:
        """The fence's sections by title, and the lines outside it."""
        turns = _TURN.split(text)
        announced = _ANNOUNCED.search(turns[0])
        lines = turns[0].split("\n")
        after = [line for turn in turns[1:] for line in turn.split("\n")]
        if announced is None:
            return {}, lines + after
        mark = announced[1]
        sections: dict[str, str] = {}
        outside: list[str] = []
        title: str | None = None
        for line in lines:
            word, _, rest = line.partition(" ")
            if word == mark:
                title = None if rest == "end" else rest
                if title is not None:
                    sections[title] = ""
            elif title is None:
                outside.append(line)
            else:
                sections[title] += line + "\n"
        return sections, outside + after


def _order(line: str) -> bool | None:
    """The verdict that a line orders, if it orders one."""
    found = _ORDER.search(line)
    if found is None or len({w.lower() for w in _WORD.findall(line)}) != 1:
        return None
    return found[1].lower() == "yes"
