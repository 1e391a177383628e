"""The package's regular expressions, each with texts on which it would backtrack if it could."""

from __future__ import annotations

import ast
import importlib
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import eirene

MATCHES = {"match", "fullmatch"}
SEARCHES = {"search", "sub", "subn", "split", "findall", "finditer", "scanner"}
_OF_CLASS = {"SPACE": " \n", "DIGIT": "1", "WORD": "a1_", "NOT_SPACE": 'a."<', "NOT_DIGIT": "a ", "NOT_WORD": ' ."-'}
_SOME = ' a.1"<-\n_(,'
_FAILS = "\x01"  # stands in no pattern: what comes before it is tried in every way


@dataclass(frozen=True)
class Used:
    """A pattern, where it is defined, and the methods that its module calls on it."""

    name: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]

    def readings(self, text: str) -> Iterator[Callable[[], object]]:
        """The ways in which the pattern is tried on a text."""
        given = text if isinstance(self.pattern.pattern, str) else text.encode("utf-8", "replace")
        if self.methods & MATCHES or not self.methods:
            yield lambda: self.pattern.match(given)
        if "fullmatch" in self.methods or not self.methods:
            yield lambda: self.pattern.fullmatch(given)
        if self.methods & SEARCHES or not self.methods:
            yield lambda: sum(1 for _ in self.pattern.finditer(given))


def patterns() -> list[Used]:
    """Every pattern that stands in a name of a module, or in a call of `re` as it is; each once."""
    found: dict[tuple[Any, frozenset[str]], Used] = {}
    for path in sorted(Path(eirene.__file__).parent.rglob("*.py")):
        tree = ast.parse(path.read_text())
        for name, pattern, methods in itertools.chain(_named(path, tree), _called(tree)):
            used = Used(f"{path.relative_to(Path(eirene.__file__).parent)} {name}", pattern, methods)
            found.setdefault((pattern, methods), used)
    return list(found.values())


def _named(path: Path, tree: ast.Module) -> Iterator[tuple[str, re.Pattern[Any], frozenset[str]]]:
    if not any(isinstance(n, ast.Import) and any(a.name == "re" for a in n.names) for n in tree.body):
        return
    parts = path.relative_to(Path(eirene.__file__).parent.parent).with_suffix("").parts
    module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
    called: dict[str, set[str]] = {}
    passed: set[str] = set()  # to a function, which may call any method
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            called.setdefault(node.value.id, set()).add(node.attr)
        elif isinstance(node, ast.Call):
            passed |= {arg.id for arg in node.args if isinstance(arg, ast.Name)}
    for name, value in vars(module).items():
        one = isinstance(value, re.Pattern)
        methods = frozenset() if name in passed or not one else frozenset(called.get(name, ()))
        yield from ((name, pattern, methods & (MATCHES | SEARCHES)) for pattern in _inside(value))


def _inside(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from (p for v in value.values() for p in _inside(v))
    elif isinstance(value, tuple | list):
        yield from (p for v in value for p in _inside(v))


def _called(tree: ast.Module) -> Iterator[tuple[str, re.Pattern[Any], frozenset[str]]]:
    for node in ast.walk(tree):
        is_re = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if not is_re or not isinstance(node.func.value, ast.Name) or node.func.value.id != "re" or not node.args:
            continue
        first = node.args[0]
        if node.func.attr in MATCHES | SEARCHES and isinstance(first, ast.Constant):
            yield f"line {node.lineno}", re.compile(first.value), frozenset({node.func.attr})


def texts_for(pattern: re.Pattern[Any], n: int) -> Iterator[str]:
    """Texts of about `n` characters: what leads to a repetition and then what it repeats, over and over."""
    for lead, unit in sorted(_Units(pattern).found):
        yield lead + unit * max(1, n // len(unit)) + _FAILS


class _Units:
    """What to repeat, and what to put before it, read off a pattern's own parts."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        parser: Any = importlib.import_module("re._parser")
        source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
        self._alphabet: set[str] = set()
        self._repeated: list[tuple[str, list[str]]] = []
        whole = self._walk(parser.parse(source, pattern.flags & ~(re.UNICODE | re.DEBUG)), "")
        self.found = {("", whole)} if whole else set()
        for lead, bodies in self._repeated:
            self.found |= {pair for body in bodies for pair in (("", body), (lead, body), ("x", body))}
            self.found |= {("", lead + body) for body in bodies[:3]} | ({("", lead)} if lead else set())
        letters = sorted(self._alphabet)[:16]
        self.found |= {("", letter) for letter in letters}
        self.found |= {("", a + b) for a in letters[:8] for b in ' \n"a'}

    def _walk(self, parts: Any, lead: str) -> str:
        """The shortest text that leads through the parts; notes each repetition with what leads to it."""
        for op, value in parts:
            kind = str(op)
            if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
                least, most, inner = value
                bodies = _samples(inner)
                self._alphabet |= {letter for body in bodies for letter in body}
                inside = self._walk(inner, lead)[len(lead) :]
                if most >= 20:
                    self._repeated.append((lead, bodies))
                lead += (inside or next(iter(bodies), "")) * min(least, 3)
            elif kind in ("SUBPATTERN", "ATOMIC_GROUP"):
                lead = self._walk(value[3] if kind == "SUBPATTERN" else value, lead)
            elif kind == "BRANCH":
                branches = [self._walk(branch, lead) for branch in value[1]]  # all, for what each repeats
                lead = branches[0]
            elif kind in ("ASSERT", "ASSERT_NOT"):
                self._walk(value[1], lead)
            else:
                some = _one(kind, value)
                self._alphabet |= set(some[:3])
                lead += some[0] if some else ""
        return lead


def _one(kind: str, value: Any) -> list[str]:
    """Some characters that a part takes, one of them at a time."""
    if kind == "LITERAL":
        return [chr(value)]
    if kind == "ANY":
        return list(_SOME)
    if kind == "NOT_LITERAL":
        return [c for c in _SOME if ord(c) != value]
    if kind != "IN":
        return []
    taken: list[str] = []
    for inner, of in value:
        name = str(inner)
        taken += [chr(of)] if name == "LITERAL" else [chr(of[0]), chr(of[1])] if name == "RANGE" else []
        taken += _OF_CLASS.get(str(of).removeprefix("CATEGORY_"), "") if name == "CATEGORY" else ""
    return [c for c in _SOME if c not in taken] if str(value[0][0]) == "NEGATE" else taken[:8]


def _samples(parts: Any) -> list[str]:
    """Some texts that parts take."""
    texts = [""]
    for op, value in parts:
        kind = str(op)
        if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            some = _samples(value[2]) + ([""] if not value[0] else [])
        elif kind in ("SUBPATTERN", "ATOMIC_GROUP"):
            some = _samples(value[3] if kind == "SUBPATTERN" else value)
        elif kind == "BRANCH":
            some = [text for branch in value[1] for text in _samples(branch)[:2]][:10]
        else:
            some = _one(kind, value)
        texts = [a + b for a in texts for b in some][:8] if some else texts
    return [text for text in texts if text]
