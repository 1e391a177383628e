"""Conversations of five turns with the chat model in an agent with memory; an answer has its own one's mark alone."""

from __future__ import annotations

import argparse
import functools
import os
import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

from harness import Journal
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from loopback import uses

import eirene

TURNS = 5
AT_ONCE = 2
CHUNK = 20
"""Conversations between two looks at the process."""
_SAYS = ("Trams bring money into the district.", "Trams are used by people of every age.", "Trams last for decades.")
_MARK = re.compile(r"mark-\d+")


def talk(options: argparse.Namespace, journal: Journal, *, end: float) -> None:
    """Holds the conversations that are missing until the time is up, some in each worker; a line a chunk."""
    starts = [n for n in range(0, options.conversations, CHUNK) if f"talk {n}" not in journal.rows]
    began, done = time.monotonic(), 0
    with get_context("spawn").Pool(options.workers) as pool:
        for found in pool.imap_unordered(converse, starts):
            done += CHUNK
            journal.add(f"talk {found['start']}", process=f"chat model {found['pid']}", at=time.monotonic() - began,
                        **found)  # fmt: skip
            if done % 500 == 0:
                passed = (time.monotonic() - began) / 60
                print(f"{done:,} of {len(starts) * CHUNK:,} conversations, {passed:.0f} minutes", flush=True)
            if time.monotonic() > end:
                return


def converse(start: int) -> dict[str, Any]:
    """A chunk of conversations, some at once: what came out, marks of others in it, and what the process has then."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = list(pool.map(_one, range(start, start + CHUNK)))
    statuses = Counter(status for found, _ in made for status in found)
    _INNER.calls.clear()  # the double keeps all that it was asked
    _count["items"] += CHUNK
    return {"start": start, "pid": os.getpid(), "items": _count["items"], "statuses": statuses,
            "foreign": [fault for _, faults in made for fault in faults], "kept": len(_MEMORY.storage),
            **uses(os.getpid())}  # fmt: skip


_count = Counter[str]()


def _one(n: int) -> tuple[list[str], list[str]]:
    """The statuses of its answers, and what is wrong with them."""
    mark, statuses, faults = f"mark-{n}", list[str](), list[str]()
    config: Any = {"configurable": {"thread_id": mark}}
    for turn in range(TURNS):
        asked = f"Should we have more trams, {mark}?" if turn == 0 else f"What else is there to say? ({turn})"
        state = _agent(n % 2).invoke({"messages": [{"role": "user", "content": asked}]}, config)
        reply = state["messages"][-1]
        statuses.append(reply.response_metadata["eirene"]["status"])
        if len(state["messages"]) != 2 * (turn + 1) or set(_MARK.findall(str(state["messages"]))) != {mark}:
            faults.append(f"{mark}, turn {turn}: {reply.text}"[:300])
        if mark not in reply.text or f"(turn {turn})" not in reply.text:
            faults.append(f"{mark}, turn {turn}, is not its own: {reply.text}"[:300])
    _MEMORY.delete_thread(mark)  # as one does whose users have gone
    return statuses, faults


@functools.cache
def _agent(kind: int) -> Any:
    """One agent for all conversations: with arguments for the embedded critic, or with rewrites by the model itself."""
    if kind == 0:
        model = eirene.RefiningChatModel(_INNER, backend="embedded", given=_given, settings={"max_rounds": 1})
    else:
        model = eirene.RefiningChatModel(_INNER, settings={"mode": "improve", "max_rounds": 1})
    return create_agent(model, [], checkpointer=_MEMORY)


def _given(messages: Any) -> dict[str, Any]:
    mark = _mark(messages)
    return {"perspectives": {"pro": _SAYS[0], "con": f"Trams take room that the homes of {mark} need."}}


def _mark(messages: list[BaseMessage]) -> str:
    return _MARK.findall("\n".join(str(message.text) for message in messages))[0]


def _reply(messages: list[BaseMessage]) -> str:
    """The draft of the turn, or a critique or rewrite of it; all say whose they are."""
    text, mark = "\n".join(str(message.text) for message in messages), _mark(messages)
    if " answer B" in text:  # which of two is the better one
        return "A" if "Opponents of" in text.split("answer A")[1].split("answer B")[0] else "B"
    if "Write the improved answer now" in text:
        turn = re.findall(r"\(turn (\d)\)", text)[-1]
        return f"{_draft(mark, int(turn))} Opponents of {mark} say that trams take room."
    return _draft(mark, sum(message.type == "human" for message in messages) - 1)


def _draft(mark: str, turn: int) -> str:
    return f"In the district of {mark} people ask for trams (turn {turn}). {_SAYS[turn % len(_SAYS)]}"


_MEMORY = InMemorySaver()
_INNER = eirene.ScriptedChatModel(_reply)
