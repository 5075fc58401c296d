"""What the attacks of an audit reached: queries, branches, settings and code of each method.

An attack that never takes a branch says nothing about it. So every replay keeps account, and an
audit that did not reach everything has not passed.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

from psgraph.audit.neighbours import EPSILONS, SIZES, WINDOWS, Neighbours
from psgraph.audit.transcripts import Call, Transcript
from psgraph.graph import UNDIRECTED, Kind
from psgraph.methods.base import Method
from psgraph.methods.private import PrivateSnapshot
from psgraph.privacy.query import Query
from psgraph.testing.cases import kinds_of

__all__ = ["Reach", "Reached", "all_reached", "kind_text"]

AnyMethod = TypeVar("AnyMethod", bound=Method[Any, Any])

RESTART, SCRIPTED = "a restart", "chosen answers"
ROSTERS = ("growing", "changing")


@dataclass(frozen=True)
class Reached:
    """One thing of a method that attacks have to reach, and how often they did.

    Attributes
    ----------
    method
        The method.
    kind
        "query", "branch", "setting" or "code".
    name
        What it is.
    times
        How often each kind of attack reached it.
    attained
        The largest distance between the answers of a query on two replayed neighbours, as a share
        of its stated sensitivity; None for everything but queries. Below 1 the replay would not
        notice a statement that is somewhat too small.
    needed
        Whether the audit fails if the replay never reached it, or never attained it.
    """

    method: str
    kind: str
    name: str
    times: Mapping[str, int]
    attained: float | None = None
    needed: bool = True

    @property
    def held(self) -> bool:
        reached = self.times.get("replay", 0) > 0 and self.attained in (None, 1)
        return reached or not self.needed

    def to_dict(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "kind": self.kind,
            "name": self.name,
            "times": dict(self.times),
            "attained": self.attained,
            "needed": self.needed,
        }


@dataclass
class Reach:
    """What attacks on one method reached. Can be sent from one process to another.

    Attributes
    ----------
    method
        The name of the method.
    times
        How often, by kind of attack, kind of thing and its name.
    attained
        The largest share of its stated sensitivity that the answers of a query moved by.
    lines
        Of each function that is handed a private snapshot: its lines, and whether they ran.
    """

    method: str
    times: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    attained: dict[str, Fraction] = field(default_factory=dict)
    lines: dict[str, dict[int, bool]] = field(default_factory=dict)

    def asked(
        self,
        attack: str,
        transcripts: Iterable[Transcript],
        kind: Kind = UNDIRECTED,
        *,
        neighbours: bool = False,
    ) -> None:
        """Count the queries of some timestamps; compare distances if they are of neighbours."""
        for transcript in transcripts:
            for call in transcript.calls:
                if call.query is None:
                    continue
                name = _on(type(call.query), kind)
                self.times[attack, "query", name] += 1
                if not neighbours:
                    continue
                share = Fraction(call.distance, call.sensitivity)
                self.attained[name] = max(self.attained.get(name, Fraction(0)), share)

    def drew(self, attack: str, call: Call, often: int) -> None:
        """Count draws from the mechanism of a query."""
        self.times[attack, "query", type(call.query).__name__] += often

    def took(self, attack: str, method: Method[Any, Any], measurement: Any, state: Any) -> None:
        """Count the branches that a timestamp took, as its method tells them."""
        for name, taken in method.audit_cases().branches.items():
            self.times[attack, "branch", name] += bool(taken(measurement, state))

    def ran(self, attack: str, pair: Neighbours, variant: str) -> None:
        """Count the settings of a pair."""
        self.times.update((attack, "setting", name) for name in _settings(pair, variant))

    def traced(self, method: AnyMethod) -> AnyMethod:
        """Note which lines run of all functions of a method that are handed a private snapshot.

        Changes the object. Does nothing while a debugger, or a measurement of coverage, traces.
        """
        measure = method.measure

        def traced(private: PrivateSnapshot, state: Any) -> Any:
            if sys.gettrace() is not None:
                return measure(private, state)
            sys.settrace(self._called)
            try:
                return measure(private, state)
            finally:
                sys.settrace(None)

        method.measure = traced  # type: ignore[method-assign]
        return method

    def _called(self, frame: FrameType, _event: str, _value: Any) -> Any:
        code = frame.f_code
        if not (arguments := _arguments(code)):
            return None
        values = frame.f_locals
        if not any(isinstance(values.get(name), PrivateSnapshot) for name in arguments):
            return None
        module = frame.f_globals.get("__name__", "")
        name = f"{module.removeprefix('psgraph.methods.')}:{code.co_qualname}"
        if name not in self.lines:
            self.lines[name] = dict.fromkeys(_lines_to_run(code), False)
        lines = self.lines[name]

        def ran(frame: FrameType, event: str, _value: Any) -> Any:
            if event == "line" and frame.f_lineno in lines:
                lines[frame.f_lineno] = True
            return ran

        return ran

    def add(self, other: Reach) -> None:
        """Add what other attacks on the same method reached."""
        self.times.update(other.times)
        for name, share in other.attained.items():
            self.attained[name] = max(self.attained.get(name, Fraction(0)), share)
        for name, lines in other.lines.items():
            mine = self.lines.setdefault(name, {})
            for line, ran in lines.items():
                mine[line] = mine.get(line, False) or ran

    def kinds(self, kind: str) -> frozenset[str]:
        """The things of a kind that any attack reached."""
        return frozenset(
            name for (_, other, name), often in self.times.items() if often and other == kind
        )


def all_reached(method: Method[Any, Any], reach: Reach) -> list[Reached]:
    """Return everything that has to be reached of a method, and how often it was."""
    cases = method.audit_cases()
    kinds = kinds_of(method)
    needed = {
        "query": [_on(query, kind) for kind in kinds for query in _asked_on(method, kind)],
        "branch": list(cases.branches),
        "setting": [
            *_all_settings(),
            *(_graphs(kind) for kind in kinds),
            *(f"variant: {name}" for name in cases.variants),
        ],
    }
    rows = []
    for kind, names in needed.items():
        others = sorted(reach.kinds(kind) - set(names))
        for name in (*names, *others):
            times = {
                attack: often
                for (attack, its_kind, its_name), often in sorted(reach.times.items())
                if (its_kind, its_name) == (kind, name)
            }
            attained = reach.attained.get(name) if kind == "query" else None
            share = None if attained is None else min(float(attained), 1.0)
            rows.append(Reached(method.name, kind, name, times, share, needed=name in names))
    for name, lines in sorted(reach.lines.items()):
        missing = [line for line, ran in sorted(lines.items()) if not ran]
        shown = f"{name}, line {', '.join(map(str, missing))}" if missing else name
        times = {"replay": 0 if missing else len(lines)}
        rows.append(Reached(method.name, "code", shown, times))
    return rows


# ---- kinds of graphs ----


def kind_text(kind: Kind) -> str:
    """A kind in a few words, whatever its largest weight; nothing for the usual one.

    >>> from psgraph.graph import DIRECTED
    >>> kind_text(UNDIRECTED), kind_text(DIRECTED.with_weights(5))
    ('', 'directed, weighted')
    """
    weighted = f"{kind.name}, weighted" if kind.weighted else kind.name
    return "" if kind == UNDIRECTED else weighted


def _on(query: type[Query[Any]], kind: Kind) -> str:
    text = kind_text(kind)
    return f"{query.__name__} ({text})" if text else query.__name__


def _asked_on(method: Method[Any, Any], kind: Kind) -> Iterator[type[Query[Any]]]:
    """Queries that have to be asked on a kind; with weights, those that read them."""
    for query in method.queries:
        if kind.name in query.kinds and kind.weighted == (query.weight_sensitivity > 0):
            yield query


def _graphs(kind: Kind) -> str:
    return f"{kind_text(kind) or kind.name} graphs"


# ---- settings ----


def _all_settings() -> list[str]:
    return [
        *(f"w = {window}" for window in WINDOWS),
        *(f"ε = {epsilon}" for epsilon in EPSILONS),
        *(_size(most) for _, most in SIZES),
        *(f"a {kind} roster" for kind in ROSTERS),
        RESTART,
        SCRIPTED,
    ]


def _settings(pair: Neighbours, variant: str) -> Iterator[str]:
    yield _graphs(pair.kind)
    yield f"w = {pair.guarantee.window}"
    yield f"ε = {pair.guarantee.epsilon}"
    yield _size(max(len(snapshot.roster) for snapshot in pair.one))
    if pair.roster in ROSTERS:
        yield f"a {pair.roster} roster"
    if pair.restarts:
        yield RESTART
    if pair.answers.fixed or pair.answers.manner != "drawn":
        yield SCRIPTED
    if variant:
        yield f"variant: {variant}"


def _size(nodes: int) -> str:
    return f"up to {next((most for _, most in SIZES if nodes <= most), nodes)} nodes"


# ---- code ----

_METHODS = Path(inspect.getfile(Method)).parent
_LIBRARY = (_METHODS / "base.py", _METHODS / "private.py", _METHODS / "timestamp.py")
_KNOWN: dict[int, tuple[CodeType, tuple[str, ...]]] = {}


def _arguments(code: CodeType) -> tuple[str, ...]:
    """The arguments of a function of a method; none of Python, other libraries or the kernel.

    Looked up at every call while a method is traced, so by identity: hashing code is slow.
    """
    known = _KNOWN.get(id(code))
    if known is None:
        arguments = () if _outside(code) else code.co_varnames[: code.co_argcount]
        known = _KNOWN[id(code)] = (code, arguments)  # kept alive, so that its id stays its own
    return known[1]


def _outside(code: CodeType) -> bool:
    """Whether code belongs to Python, other libraries or the kernel, rather than to a method."""
    path = Path(code.co_filename)
    roots = (Path(sys.prefix), Path(sys.base_prefix), _METHODS.parent)
    foreign = path.name.startswith("<") or any(root in path.parents for root in roots)
    own = _METHODS in path.parents and path not in _LIBRARY
    return (foreign and not own) or "<" in code.co_name


def _lines_to_run(code: CodeType) -> list[int]:
    """The lines of a function, without those that only refuse: blocks that end with ``raise``."""
    lines = {line for _, _, line in code.co_lines() if line is not None} - {code.co_firstlineno}
    try:
        source, first = inspect.getsourcelines(code)
    except OSError:  # changed by a deliberate bug
        return []
    tree = ast.parse(textwrap.dedent("".join(source)))
    for node in ast.walk(tree):
        for block in ("body", "orelse", "handlers"):
            statements = getattr(node, block, None)
            if isinstance(statements, list) and statements and _refuses(statements[-1]):
                start, end = statements[0].lineno, statements[-1].end_lineno or 0
                lines -= set(range(first + start - 1, first + end))
    return sorted(lines)


def _refuses(statement: ast.AST) -> bool:
    return isinstance(statement, ast.Raise)
