"""What Eirene is measured beside: other ways to improve an answer, each as its own documentation would do it.

`one-shot`: one request. `self-refine` (Madaan et al. 2023) on LangChain: feedback, then a rewrite, twice at most, until
the feedback finds nothing. `reflection`: langgraph-reflection, whose judge is asked for a verdict and a comment, with
two rewrites at most; the given answer is what it judges first. `dspy`: `dspy.Refine`, the best of three rewrites by a
reward, the model's own grade from 0 to 10, until one has 9. `instructor`: its `llm_validator` on the rewrite, and
`guardrails`: a validator that asks the model, each with two more tries. Temperature 0, but for dspy's tries (1).
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

from harness import Row
from pydantic import AfterValidator, BaseModel, create_model

MAX_TOKENS = 1024
ROUNDS = 2
IMPROVE = "You improve answers. Reply with the improved answer alone: the whole text, ready to be shown."
FEEDBACK = (
    "You examine an answer to a question. Say which sentences are wrong, have nothing to do with the question, or lack "
    "something that the question needs, and how to mend each. If nothing is to be changed, reply with the word STOP."
)
REWRITE = "You revise an answer by the feedback on it. Reply with the new answer alone: the whole text."
JUDGE = "You judge an answer: is it right, complete and to the point? If not, comment on what is to be changed."


@dataclass
class Used:
    """What a row took."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True)
class Server:
    """Who answers."""

    url: str
    model: str
    key: str = "none-needed"
    timeout_s: float = 180


Refine = Callable[[Row], Awaitable[tuple[str, Used]]]
"""An item's improved answer, and what it took."""


def material(item: Row, answer: str | None = None) -> str:
    """What every contender shows: the question, what was given, and the answer."""
    passages = "".join(f"\n\nPassage {n}: {text}" for n, text in enumerate(item.get("context") or (), start=1))
    sides = "".join(
        f"\n\nArguments, {side['name']}: {' '.join(f'({n}) {a}' for n, a in enumerate(side['arguments'], start=1))}"
        for side in item.get("perspectives") or ()
    )
    return f"Question: {item['question']}{passages}{sides}\n\nAnswer: {answer or item['answer']}"


def chat(server: Server) -> tuple[Any, Callable[[], Any]]:
    """LangChain's client, and what makes a counter for the calls of one row."""
    from langchain_core.callbacks import UsageMetadataCallbackHandler
    from langchain_openai import ChatOpenAI

    class Counter(UsageMetadataCallbackHandler):
        """Tokens and calls."""

        calls = 0

        def on_llm_end(self, response: Any, **kwargs: Any) -> None:
            self.calls += 1
            super().on_llm_end(response, **kwargs)

        def used(self) -> Used:
            found = Used(self.calls)
            for one in self.usage_metadata.values():
                found.input_tokens += one["input_tokens"]
                found.output_tokens += one["output_tokens"]
                found.cached_tokens += one.get("input_token_details", {}).get("cache_read", 0) or 0
            return found

    model = ChatOpenAI(
        model=server.model, base_url=server.url, api_key=server.key, temperature=0, max_tokens=MAX_TOKENS,
        timeout=server.timeout_s,
    )  # type: ignore[call-arg, arg-type]  # fmt: skip
    return model, Counter


def one_shot(server: Server) -> Refine:
    """One request."""
    model, counter = chat(server)

    async def refine(item: Row) -> tuple[str, Used]:
        counts = counter()
        reply = await model.ainvoke([("system", IMPROVE), ("human", material(item))], config={"callbacks": [counts]})
        return reply.text.strip(), counts.used()

    return refine


def self_refine(server: Server) -> Refine:
    """Feedback, then a rewrite, by hand."""
    model, counter = chat(server)

    async def refine(item: Row) -> tuple[str, Used]:
        counts, answer = counter(), item["answer"]
        for _ in range(ROUNDS):
            shown = material(item, answer)
            feedback = await model.ainvoke([("system", FEEDBACK), ("human", shown)], config={"callbacks": [counts]})
            if feedback.text.strip().strip(".").endswith("STOP"):
                break
            asked = f"{shown}\n\nFeedback: {feedback.text.strip()}"
            reply = await model.ainvoke([("system", REWRITE), ("human", asked)], config={"callbacks": [counts]})
            answer = reply.text.strip()
        return answer, counts.used()

    return refine


class Judgement(BaseModel):
    """Whether the answer is good, and what is to be changed."""

    comment: str
    good: bool


def reflection(server: Server) -> Refine:
    """langgraph-reflection: an assistant and a judge that takes the user's place until it is content."""
    from langchain_core.messages import AIMessage, HumanMessage
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph_reflection import create_reflection_graph

    model, counter = chat(server)
    judge = model.with_structured_output(Judgement, method="json_schema")

    async def assist(state: MessagesState) -> dict[str, Any]:
        first, *others = state["messages"]
        if not others:
            return {"messages": [AIMessage(first.additional_kwargs["answer"])]}
        return {"messages": [await model.ainvoke([("system", REWRITE), *state["messages"]])]}

    async def reflect(state: MessagesState) -> dict[str, Any]:
        shown = f"{state['messages'][0].text}\n\nAnswer: {state['messages'][-1].text}"
        found = await judge.ainvoke([("system", JUDGE), ("human", shown)])
        return {"messages": [] if found.good else [HumanMessage(found.comment)]}

    def graph(node: Any) -> Any:
        return StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile()

    whole = create_reflection_graph(graph(assist), graph(reflect), MessagesState).compile()

    async def refine(item: Row) -> tuple[str, Used]:
        counts, asked = counter(), material(item).rpartition("\n\nAnswer: ")[0]
        start = HumanMessage(asked, additional_kwargs={"answer": item["answer"]})
        limit = 2 * (ROUNDS + 1) + 1  # supersteps: the given answer and each rewrite is judged, and the end
        state = await whole.ainvoke({"messages": [start]}, config={"callbacks": [counts], "recursion_limit": limit})
        answers = [m for m in state["messages"] if isinstance(m, AIMessage)]
        return answers[-1].text.strip(), counts.used()

    return refine


def dspy_refine(server: Server) -> Refine:
    """`dspy.Refine` with the model's own grade as the reward; it is not async, and each row has a thread."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import dspy

    lm = dspy.LM(
        f"openai/{server.model}", api_base=server.url, api_key=server.key, cache=False, max_tokens=MAX_TOKENS,
        timeout=server.timeout_s,
    )  # fmt: skip
    improve = dspy.Predict(dspy.Signature("material: str -> improved_answer: str", IMPROVE))
    grade = dspy.Predict(dspy.Signature("material: str -> grade: int", f"{JUDGE} Give a grade from 0 (bad) to 10."))

    def one(item: Row) -> tuple[str, Used]:
        def reward(_: Any, found: Any) -> float:
            return float(grade(material=material(item, str(found.improved_answer))).grade) / 10

        with dspy.context(lm=lm), dspy.track_usage() as tracker:
            refined = dspy.Refine(module=improve, N=3, reward_fn=reward, threshold=0.9)(material=material(item))
        used = Used()
        for calls in tracker.usage_data.values():
            used.calls += len(calls)
            for call in calls:
                used.input_tokens += call.get("prompt_tokens") or 0
                used.output_tokens += call.get("completion_tokens") or 0
                used.cached_tokens += (call.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        return str(refined.improved_answer).strip(), used

    return functools.partial(asyncio.to_thread, one)


def instructed(server: Server) -> Refine:
    """instructor: a rewrite whose field is validated by the model, and asked for again with the reason."""
    import instructor
    from openai import OpenAI

    api = OpenAI(base_url=server.url, api_key=server.key, timeout=server.timeout_s)
    client = instructor.from_openai(api, mode=instructor.Mode.JSON_SCHEMA)
    good = AfterValidator(instructor.llm_validator(JUDGE, client=client, model=server.model))
    improved = create_model("Improved", answer=(Annotated[str, good], ...))

    def one(item: Row) -> tuple[str, Used]:
        asked = [{"role": "system", "content": IMPROVE}, {"role": "user", "content": material(item)}]
        found = client.chat.completions.create(
            model=server.model, response_model=improved, messages=asked, max_retries=ROUNDS, temperature=0
        )
        return str(found.answer).strip(), Used()

    return functools.partial(asyncio.to_thread, one)


def guarded(server: Server) -> Refine:
    """guardrails-ai: a validator that asks the model, and reasks; what does not pass is the given answer."""
    os.environ.setdefault("OTEL_SDK_DISABLED", "true")
    import guardrails
    from guardrails.validators import FailResult, PassResult, register_validator
    from openai import OpenAI

    api = OpenAI(base_url=server.url, api_key=server.key, timeout=server.timeout_s)

    @register_validator(name="model-as-judge", data_type="string")
    def judge(value: Any, metadata: dict[str, Any]) -> Any:
        asked: Any = [{"role": "system", "content": JUDGE}, {"role": "user", "content": f"Answer: {value}"}]
        reply = api.chat.completions.parse(model=server.model, messages=asked, response_format=Judgement)
        found = reply.choices[0].message.parsed
        return PassResult() if found is not None and found.good else FailResult(error_message=str(found))

    guard = guardrails.Guard().use(judge(on_fail="reask"))

    def one(item: Row) -> tuple[str, Used]:
        asked = [{"role": "system", "content": IMPROVE}, {"role": "user", "content": material(item)}]
        found = guard(
            model=f"openai/{server.model}", api_base=server.url, api_key=server.key, timeout=server.timeout_s,
            messages=asked, num_reasks=ROUNDS, temperature=0,
        )  # fmt: skip
        return (str(found.validated_output).strip() if found.validation_passed else item["answer"]), Used()

    return functools.partial(asyncio.to_thread, one)


CONTENDERS: dict[str, Callable[[Server], Refine]] = {
    "one-shot": one_shot, "self-refine": self_refine, "reflection": reflection, "dspy": dspy_refine,
    "instructor": instructed, "guardrails": guarded,
}  # fmt: skip
