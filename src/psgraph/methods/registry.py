"""The methods that can be chosen: by an installed name, ``module:Class``, a class or an object."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from psgraph.errors import InvalidArgument, KindMismatch
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.graph.parts import PART_NODES
from psgraph.methods.base import Method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.samplers import Sampler

__all__ = [
    "MethodLike",
    "build_method",
    "check_kind",
    "choose_method",
    "find_method",
    "memory_note",
    "method_class",
    "method_names",
    "register_method",
]

MethodLike = str | type[Method[Any, Any]] | Method[Any, Any]

# Two positions of 4 bytes, and as much again for the neighbour lists.
_EDGE_BYTES = 16

_REGISTERED: dict[str, type[Method[Any, Any]]] = {}


def register_method(method: type[Method[Any, Any]]) -> None:
    """Make a class known under its name in this process, as an installed plug-in is.

    A ledger that was started with it can be resumed then. Refuses a name that is taken.
    """
    name = method.name
    if name in method_names() and find_method(name) is not method:
        raise InvalidArgument(
            f"there is another method called {name!r}\nGive yours another `name`."
        )
    _REGISTERED[name] = method


@cache
def _installed() -> dict[str, EntryPoint]:
    """Return the installed methods; looked up once, since it reads a file of every package."""
    points = entry_points(group="psgraph.methods")
    return {point.name: point for point in reversed(list(points))}


def method_names() -> list[str]:
    """Return the names of the installed methods, psgraph's own and plug-ins.

    >>> "psgraph" in method_names()
    True
    """
    return sorted(set(_installed()) | set(_REGISTERED))


def find_method(name: str) -> type[Method[Any, Any]]:
    """Return the class of a method by its name."""
    point = _installed().get(name)
    if point is not None:
        found: type[Method[Any, Any]] = point.load()
        return found
    if name in _REGISTERED:
        return _REGISTERED[name]
    raise InvalidArgument(
        f"there is no method called {name!r}\nInstalled methods: {', '.join(method_names())}"
    )


def choose_method(method: MethodLike) -> Method[Any, Any]:
    """Return a method object; a name or a class gives one with default parameters.

    >>> choose_method("tmf").name, choose_method("psgraph.methods.tmf:TmF").name
    ('tmf', 'tmf')
    """
    if isinstance(method, Method):
        return method
    if isinstance(method, str):
        return method_class(method)()
    if isinstance(method, type) and issubclass(method, Method):
        return method()
    raise InvalidArgument(
        f"a method is an object, a class or a name, not {type(method).__name__}\n"
        "Give for example psgraph.PSGraph(), or 'psgraph'."
    )


def method_class(name: str) -> type[Method[Any, Any]]:
    """Return a class by the name it is installed under, or import it as ``module:Class``.

    Importing runs the module's code. So only names that the user wrote are read here, never one
    out of a ledger or a certificate; those go through `find_method`.
    """
    if ":" not in name:
        return find_method(name)
    module, _, attribute = name.partition(":")
    try:
        found: Any = import_module(module)
    except (ImportError, ValueError) as error:
        raise InvalidArgument(
            f"the module of method {name!r} can't be imported: {error}\n"
            "Install it, or run from the directory it is in."
        ) from None
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type) or not issubclass(found, Method):
        raise InvalidArgument(
            f"{name!r} is not a method\nName a subclass of psgraph.Method as module:Class."
        )
    return found


def build_method(
    name: str, settings: Mapping[str, str], guarantee: WEventPrivacy
) -> Method[Any, Any]:
    """Build an installed method from settings in text; refuse an ε too small to draw noise for.

    Only installed methods are found, so a request can't cause an import of other code.

    >>> build_method("tmf", {"filter": "linear"}, WEventPrivacy("1", window=5)).name
    'tmf'
    """
    method = find_method(name).from_settings(settings)
    for row in method.plan(guarantee, nodes=1):
        Sampler.rounded_rate(row.epsilon / (row.sensitivity or 1))
    return method


def memory_note(
    method: Method[Any, Any], nodes: int | None, prepared: bool, kind: Kind | None = None
) -> str | None:
    """Say that a method holds all edges in memory, where that may matter; None elsewhere.

    It may matter for a store, and for a roster of more than one part. How many edges there are is
    private, so the note says how many this machine could hold at best.

    >>> from psgraph.methods.psgraph import PSGraph
    >>> from psgraph.methods.tmf import TmF
    >>> memory_note(TmF(), nodes=1000, prepared=False)
    >>> memory_note(PSGraph(), nodes=10**7, prepared=True)
    >>> print(memory_note(TmF(), nodes=10**7, prepared=False).partition(", at least")[0])
    Method tmf holds all edges of a snapshot in the memory of one machine
    """
    kind = kind or UNDIRECTED
    if not method.holds_all_edges(kind) or not (prepared or (nodes or 0) > PART_NODES):
        return None
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return (
        f"Method {method.name} holds all edges of a snapshot in the memory of one machine, at "
        f"least {_EDGE_BYTES} bytes for every edge and often several times that. This one has "
        f"{memory / 1e9:.1f} GB: fewer than {memory / _EDGE_BYTES / 1e6:,.0f} million edges fit. "
        f"These methods read it part by part: {', '.join(_in_parts(kind))}."
    )


def _in_parts(kind: Kind) -> list[str]:
    """The installed methods that ask for sums over parts; a plug-in that fails is left out."""
    found = []
    for name in method_names():
        with suppress(Exception):
            if not find_method(name)().holds_all_edges(kind):
                found.append(name)
    return found


def check_kind(method: Method[Any, Any], graphs: object) -> None:
    """Refuse a stream, a snapshot or a kind that the method does not publish, and weights."""
    kind = graphs if isinstance(graphs, Kind) else getattr(graphs, "kind", None)
    if not isinstance(kind, Kind):
        return
    if kind.name not in method.kinds:
        known = sorted(method.kinds)
        raise KindMismatch(
            f"method {method.name!r} publishes {_listed(known, 'and')} graphs only\n"
            + _remedy(kind, _WITHOUT.get(kind.name))
        )
    if kind.flows:
        if not method.publishes_flows:
            raise KindMismatch(
                f"method {method.name!r} publishes no flows\n" + _remedy(kind, _WITHOUT["flows"])
            )
    elif kind.weighted and not method.publishes_weights:
        raise KindMismatch(
            f"method {method.name!r} publishes no weights\n" + _remedy(kind, _WITHOUT["weights"])
        )


_WITHOUT = {
    "directed": (
        "leave --directed (kind='directed') out to publish who is connected with whom, without "
        "direction"
    ),
    "flows": "leave --flows (flows=True) out to publish which edges there are",
    "weights": "leave --weights (weights=…) out to publish which edges there are",
}


def _remedy(kind: Kind, without: str | None) -> str:
    """Name the methods that publish a kind, and what to leave out instead."""
    names = [name for name in method_names() if _publishes(find_method(name), kind)]
    advice = [f"use {_listed(names, 'or')}"] if names else []
    advice += [without] if without else []
    text = ", or ".join(advice or ["use another method"])
    return f"{text[0].upper()}{text[1:]}."


def _publishes(method: type[Method[Any, Any]], kind: Kind) -> bool:
    carries = method.publishes_flows if kind.flows else method.publishes_weights
    return kind.name in method.kinds and (carries or not kind.weighted)


def _listed(words: Sequence[str], last: str) -> str:
    """Join words: ``a, b or c``."""
    *others, end = words
    return f"{', '.join(others)} {last} {end}" if others else end
