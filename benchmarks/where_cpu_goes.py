"""Where a Python process spends its CPU time, by library: reads what the sampling profiler py-spy wrote.

    pip install py-spy
    py-spy record --rate 100 --format raw --output stacks.txt -- eirene batch in.jsonl --out out.jsonl --backend ...
    python benchmarks/where_cpu_goes.py stacks.txt

A sample belongs to the innermost frame that is of a library named below; a frame of ours counts under its package, so
that what we call of the standard library is ours. Threads that wait for work are left out. Prints shares of the rest
that lie after the imports, as JSON.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path

LIBRARIES = {
    "onnxruntime": "encoder (onnxruntime)",
    "tokenizers": "encoder (onnxruntime)",
    "openai": "client (openai, httpx)",
    "httpx": "client (openai, httpx)",
    "httpx2": "client (openai, httpx)",
    "httpcore": "client (openai, httpx)",
    "httpcore2": "client (openai, httpx)",
    "h11": "client (openai, httpx)",
    "anyio": "client (openai, httpx)",
    "langchain_openai": "LangChain",
    "langchain_core": "LangChain",
    "langsmith": "LangChain",
    "langgraph": "LangGraph",
    "pregel": "LangGraph",
    "pydantic": "pydantic",
    "asyncio": "asyncio",
}
WAITING = ("_worker (concurrent/futures/thread.py", "select (selectors.py", "wait (threading.py")
_FILE = re.compile(r"\(([^():]+)(?::\d+)?\)$")


def owner(frames: list[str]) -> str:
    """The library, or the package of ours, that a stack's innermost known frame belongs to."""
    for frame in reversed(frames):
        found = _FILE.search(frame)
        parts = found.group(1).split("/") if found else []
        if parts[:1] == ["eirene"]:
            return "/".join(parts[:2])
        # py-spy shortens paths: a file of a package may begin with its subfolder.
        for part in parts[:2]:
            if part in LIBRARIES:
                return LIBRARIES[part]
    return "the rest"


def main() -> None:
    """Reads the stacks, prints the shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stacks", type=Path, help="what py-spy wrote with --format raw")
    counts: Counter[str] = Counter()
    for line in parser.parse_args().stacks.read_text().splitlines():
        stack, _, samples = line.rpartition(" ")
        frames = stack.split(";")
        if any("importlib" in frame for frame in frames) or any(name in frames[-1] for name in WAITING):
            continue
        counts[owner(frames)] += int(samples)
    total = sum(counts.values())
    print(json.dumps({"samples": total, "shares": {k: round(n / total, 3) for k, n in counts.most_common()}}, indent=1))


if __name__ == "__main__":
    main()
