"""How far the rule of thumb for tokens is off, against real tokenizers.

    python benchmarks/token_count.py NAME=FILE ... [--rows examples/npov.jsonl]

FILE is a tokenizer.json of the `tokenizers` library, or a list of BPE ranks as tiktoken keeps them (with the pattern of
cl100k_base). The texts: the prompts for critiques of the rows, and the paragraphs of the pages in docs/.
"""

from __future__ import annotations

import argparse
import base64
from collections.abc import Callable
from pathlib import Path

from eirene.data import open_dataset
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.request import feedback_messages
from eirene.models.costs import rough_count
from eirene.text.sentences import split_sentences

PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|"
    r"\s+(?!\S)|\s"
)


def counter(file: Path) -> Callable[[str], int]:
    data = file.read_bytes()
    if data.lstrip().startswith(b"{"):
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(file))
        return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
    import tiktoken

    ranks = {base64.b64decode(line.split()[0]): int(line.split()[1]) for line in data.splitlines() if line}
    encoding = tiktoken.Encoding("given", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    return lambda text: len(encoding.encode_ordinary(text))


def texts(rows: str) -> dict[str, list[str]]:
    items = open_dataset(rows).read()
    asked = [feedback_messages(FeedbackRequest(i, i.answer, split_sentences(i.answer), 0)) for i in items]
    pages = [page.read_text("utf-8").split("\n\n") for page in sorted(Path("docs").glob("*.md"))]
    prose = [p for page in pages for p in page if len(p) > 150 and "|" not in p and "    " not in p]
    return {"prompts": ["\n".join(m.content for m in messages) for messages in asked], "paragraphs": prose}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizers", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--rows", default="examples/npov.jsonl")
    arguments = parser.parse_args()
    for kind, some in texts(arguments.rows).items():
        for given in arguments.tokenizers:
            name, _, file = given.partition("=")
            count = counter(Path(file))
            shares = sorted(rough_count(text) / count(text) for text in some)
            total = sum(map(rough_count, some)) / sum(map(count, some))
            low, high = shares[len(shares) // 40], shares[-1 - len(shares) // 40]
            middle = f"95 % of the texts {low:.2f} to {high:.2f}"
            print(f"{kind} (n = {len(some)}), {name}: {total:.3f} of the tokens in all, {middle}")
