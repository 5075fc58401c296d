"""How noisy a publication would be, before anything is spent or any data is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import hypot, log, sqrt
from typing import Any

from psgraph.errors import InvalidArgument, exact_decimal
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.methods import DEFAULT_METHOD
from psgraph.methods.base import Caveat, Method, NoisePlan
from psgraph.methods.registry import MethodLike, check_kind, choose_method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.query import Counted
from psgraph.publication.terms import Promise, check_guarantee, check_unit, thin_budget

__all__ = ["Effects", "OwnerCost", "Plan", "Range", "effects_of", "nearby", "owner_costs", "plan"]


@dataclass(frozen=True)
class Plan:
    """What each timestamp would measure, and with how much noise.

    Attributes
    ----------
    rows
        The measurements, by case.
    remarks
        Sentences of the method that help to read them.
    caveat
        How the privacy the method provides differs from the guarantee; None if it does not.
    even
        Whether every timestamp is charged ε/w. Otherwise the method requests more for some
        timestamps than for others, within every window.
    edges
        The number of edges of the graph, as far as it is known; None otherwise.
    effects
        What the noise means for a graph of this size, then the same with half and twice ε and w;
        empty without `edges`.
    """

    guarantee: WEventPrivacy
    nodes: int
    method: str
    rows: tuple[NoisePlan, ...]
    remarks: tuple[str, ...] = ()
    caveat: Caveat | None = None
    even: bool = True
    edges: int | None = None
    effects: tuple[Effects, ...] = ()
    kind: Kind = UNDIRECTED

    @property
    def promise(self) -> Promise:
        """What releases would promise, which may be less than the guarantee."""
        return Promise(self.guarantee, self.caveat)

    def _repr_html_(self) -> str | None:
        from psgraph.publication.cards import plan_card

        return plan_card(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.promise.to_dict(),
            **self.guarantee.to_dict(),
            "epsilon_per_timestamp": (
                exact_decimal(self.guarantee.per_timestamp) if self.even else None
            ),
            "nodes": self.nodes,
            "edges": self.edges,
            **self.kind.to_dict(),
            "method": self.method,
            "measurements": [row.to_dict() for row in self.rows],
            "effects": [effect.to_dict() for effect in self.effects],
            "remarks": list(self.remarks),
            "caveat": self.caveat.text if self.caveat else None,
        }


def plan(
    guarantee: WEventPrivacy,
    *,
    nodes: int,
    edges: int | None = None,
    method: MethodLike = DEFAULT_METHOD,
    kind: Kind = UNDIRECTED,
    left: int | None = None,
    labels: bool = False,
) -> Plan:
    """Return the noise scales a method would work with. Spends nothing.

    Parameters
    ----------
    guarantee
        ε and w.
    nodes
        The number of nodes on the roster.
    edges
        About how many edges a snapshot has, to learn what the noise means for such a graph. The
        plan is for the curator then: an edge count from the data is private.
    method
        A method or its name.
    kind
        The kind of the graphs.
    left
        For two-sided graphs: how many of the nodes are on the left.
    labels
        Whether the roster has public labels.

    Examples
    --------
    >>> for row in plan(WEventPrivacy("1", window=5), nodes=10_000, method="psgraph").rows[:2]:
    ...     print(row.case, "|", row.label, "|", round(row.scale, 1))
    communities kept | edges | 100.0
    communities kept | inner degrees | 10.5
    """
    check_guarantee(guarantee)
    nodes = _checked("nodes", nodes)
    edges = None if edges is None else _checked("edges", edges)
    if kind.two_sided and (left is None or not 0 <= left <= nodes):
        raise InvalidArgument("two-sided graphs need the number of nodes on the left", code="left")
    sizes = (nodes,) if left is None else (left, nodes - left)
    if edges is not None and not kind.flows and edges > kind.pairs(*sizes):
        raise InvalidArgument(
            f"{edges:,} edges are more than {nodes:,} nodes can have", code="too_many_edges"
        )
    chosen = choose_method(method)
    guarantee = guarantee.on(directed=kind.directed, weighted=kind.weighted, flows=kind.flows)
    check_unit(chosen, guarantee)
    check_kind(chosen, kind)
    of_kind: dict[str, Any] = {} if kind == UNDIRECTED else {"kind": kind}
    noise: Callable[..., list[NoisePlan]] = partial(
        chosen.plan_with_labels if labels else chosen.plan, **of_kind
    )
    rows = tuple(row.under(guarantee.unit) for row in noise(guarantee, nodes=nodes))
    return Plan(
        guarantee,
        nodes,
        chosen.name,
        rows=rows,
        remarks=(
            *chosen.plan_remarks(guarantee, nodes=nodes, **of_kind),
            *filter(None, [thin_budget(guarantee)]),
        ),
        caveat=chosen.caveat,
        even=type(chosen).request is Method.request,
        edges=edges,
        effects=() if edges is None else _effects(noise, guarantee, nodes=nodes, edges=edges),
        kind=kind,
    )


def _effects(
    noise: Callable[..., list[NoisePlan]], guarantee: WEventPrivacy, *, nodes: int, edges: int
) -> tuple[Effects, ...]:
    return tuple(
        effects_of(
            [row.under(each.unit) for row in noise(each, nodes=nodes)],
            each,
            nodes=nodes,
            edges=edges,
        )
        for each in (guarantee, *nearby(guarantee))
    )


@dataclass(frozen=True)
class OwnerCost:
    """What a bound on the edges of an owner costs, and what it keeps.

    Attributes
    ----------
    at_most
        The bound.
    degree, edge_count, cell
        How far off a degree, the number of edges, and a number of edges between classes or
        communities would be: the best and the worst case of the plan; None if it measures none.
    kept
        The share of edges in use if owners have that many edges by a geometric distribution; None
        without a guess of the mean.
    """

    at_most: int
    degree: Range
    edge_count: Range
    cell: Range
    kept: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the values by name."""
        return asdict(self)


def owner_costs(
    plans: Sequence[Plan], *, edges_per_owner: float | None = None
) -> tuple[OwnerCost, ...]:
    """Compare plans for owners with different bounds.

    Parameters
    ----------
    edges_per_owner
        A public guess of the mean number of edges of an owner with any, at a timestamp.

    Examples
    --------
    >>> from psgraph import Owner
    >>> bounds = [WEventPrivacy("2", 7, Owner("rider", at_most)) for at_most in (1, 5)]
    >>> plans = [plan(each, nodes=1000, method="psgraph") for each in bounds]
    >>> [round(each.kept, 2) for each in owner_costs(plans, edges_per_owner=3)]
    [0.33, 0.87]
    """
    found = []
    for made in plans:
        counts = {
            "degree": [row for row in made.rows if row.counts == "degree"],
            "edges": [row for row in made.rows if row.counts == "edges"],
            "cell": [row for row in made.rows if row.label.startswith("edges between")],
        }
        scales = {
            name: [row.scale for row in rows if row.scale is not None]
            for name, rows in counts.items()
        }
        ranges = {name: (min(s), max(s)) if s else None for name, s in scales.items()}
        bound = made.guarantee.unit.edges
        kept = None if edges_per_owner is None else 1 - (1 - 1 / edges_per_owner) ** bound
        found.append(OwnerCost(bound, ranges["degree"], ranges["edges"], ranges["cell"], kept))
    return tuple(found)


def _checked(name: str, number: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise InvalidArgument(
            f"{name} must be an integer of at least 0, not {number!r}", code="not_a_count"
        )
    return number


#: The best and the worst case of a plan; None if no case has it.
Range = tuple[float, float] | None

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Effects:
    """What a guarantee means for a graph.

    Attributes
    ----------
    guarantee
        The guarantee it is about.
    mean_degree
        The mean degree of the graph.
    degree
        The smallest degree that stands out.
    edge_error
        The mean error of one measurement of the edge count, as a share of it.
    """

    guarantee: WEventPrivacy
    mean_degree: float
    degree: Range
    edge_error: Range

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.guarantee.to_dict(),
            "smallest_degree": _listed(self.degree),
            "edge_count_error": _listed(self.edge_error),
        }


def effects_of(
    rows: Sequence[NoisePlan], guarantee: WEventPrivacy, *, nodes: int, edges: int
) -> Effects:
    """Return what the rows of a plan mean for a graph of this size.

    >>> guarantee = WEventPrivacy("1", window=1)
    >>> row = NoisePlan("always", "degrees", guarantee.epsilon, 2, counts="degree")
    >>> found = effects_of([row], guarantee, nodes=1000, edges=5000)
    >>> [round(degree) for degree in found.degree]
    [28, 28]
    """
    mean_degree = 2 * edges / nodes if nodes else 0.0
    # Laplace noise of scale b exceeds x with probability e^(−x/b)/2; of n values none, with 95 %.
    reach = log(max(nodes, 1) / (2 * (1 - CONFIDENCE)))
    return Effects(
        guarantee,
        mean_degree,
        degree=_range(mean_degree + reach * scale for scale in _scales(rows, "degree")),
        edge_error=_range(scale / edges for scale in _scales(rows, "edges")) if edges else None,
    )


def nearby(guarantee: WEventPrivacy) -> list[WEventPrivacy]:
    """Return a guarantee with half and twice its ε, and with half and twice its window.

    >>> [(float(each.epsilon), each.window) for each in nearby(WEventPrivacy("1", window=5))]
    [(0.5, 5), (2.0, 5), (1.0, 3), (1.0, 10)]
    """
    epsilon, window = guarantee.epsilon, guarantee.window
    made = [replace(guarantee, epsilon=each) for each in (epsilon / 2, epsilon * 2)]
    if window > 1:
        made.append(replace(guarantee, window=(window + 1) // 2))
    return [*made, replace(guarantee, window=2 * window)]


def _scales(rows: Sequence[NoisePlan], counted: Counted) -> Iterable[float]:
    """Yield for each case that counts something the noise scale with the variance of all terms.

    Laplace noise of that scale has heavier tails than the sum, so the result errs on the safe side.
    """
    for case in dict.fromkeys(row.case for row in rows if row.counts == counted):
        terms = [row for row in rows if row.counts == counted and row.case == case]
        yield hypot(*(row.scale * sqrt(row.terms) for row in terms if row.scale is not None))


def _range(values: Iterable[float]) -> Range:
    found = list(values)
    return (min(found), max(found)) if found else None


def _listed(values: Range) -> list[float] | None:
    return None if values is None else list(values)
