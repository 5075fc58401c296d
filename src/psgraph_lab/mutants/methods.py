"""Mutants of PSGraph and the static methods; many are what published code gets wrong.

Each changes one step of a method so that it reads private edges where it must not, or pays less
than it owes.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph.graph import Roster, Snapshot
from psgraph.graph.kind import UNDIRECTED
from psgraph.privacy.budget import Budget
from psgraph.privacy.mechanisms.laplace import LaplaceCount
from psgraph_lab.mutants.mutant import Edit, Mutant, Swap
from psgraph_lab.mutants.truth import (
    TRUE_DEGREES,
    TRUE_EDGES,
    remembering,
    remembering_for_later,
    then,
    true_degrees,
    true_snapshot,
)

__all__ = ["METHODS"]

DER = "psgraph.methods.der.method"
LDPGEN = "psgraph.methods.ldpgen"
PRIVGRAPH = "psgraph.methods.privgraph"
PRIVHRG = "psgraph.methods.privhrg.method"

PSGRAPH = "psgraph.methods.psgraph.method"
TMF = "psgraph.methods.tmf"


def _true_edges(private: Any, measurement: Any) -> Any:
    return dataclasses.replace(measurement, noisy_edge_count=int(true_snapshot(private).u.size))


def _capped_by_truth(private: Any, measurement: Any) -> Any:
    cap = int(true_degrees(private).max(initial=0))
    return dataclasses.replace(
        measurement, noisy_inner_degrees=np.minimum(measurement.noisy_inner_degrees, cap)
    )


def _fused_with_truth(private: Any, measurement: Any) -> Any:
    return dataclasses.replace(
        measurement,
        noisy_inner_degrees=(measurement.noisy_inner_degrees + true_degrees(private)) // 2,
    )


def _count_without_a_query(real: Any) -> Any:
    def measure(self: Any, private: Any, state: Any) -> Any:
        count = LaplaceCount(int(true_snapshot(private).u.size), 1)
        private._budget.run(count, epsilon=private.remaining / 2, label="edges")
        return real(self, private, state)

    return measure


def _roster_from_edges(real: Any) -> Any:
    def measure(self: Any, private: Any, state: Any) -> Any:
        snapshot = true_snapshot(private)
        active = np.unique(np.concatenate([snapshot.u, snapshot.v]))
        ends = (np.searchsorted(active, side) for side in (snapshot.u, snapshot.v))
        smaller = Snapshot(Roster(snapshot.roster.ids[active]), *ends)
        return real(self, type(private)(smaller, private._budget, private._edges.engine), state)

    return measure


def _skipping_empty_graphs(real: Any) -> Any:
    def find(private: Any, **options: Any) -> Any:
        if true_snapshot(private).u.size == 0:
            return np.arange(len(private.roster), dtype=np.int32)
        return real(private, **options)

    return find


def _on_a_free_budget(real: Any) -> Any:
    def find(private: Any, **options: Any) -> Any:
        free = Budget(Fraction(1000), private._budget._sampler)
        return real(private._with_budget(free), **options)

    return find


def _split_again_unpaid(real: Any) -> Any:
    """The structure measured a second time, on a second split with names of its own."""

    def structure(private: Any, labels: Any, *, epsilon: Fraction) -> Any:
        measured = real(private, labels, epsilon=epsilon)
        split = private.parallel
        private._budget.spent -= epsilon
        private.parallel = lambda epsilon, *parts: split(epsilon, *(f"{p}, again" for p in parts))
        try:
            real(private, labels, epsilon=epsilon)
        finally:
            del private.parallel
        return measured

    return structure


def _keeping_by_truth(_real: Any) -> Any:
    def keeps(self: Any, state: Any, noisy_edge_count: int, roster: Any) -> bool:
        del noisy_edge_count, roster
        return bool(self._truth.u.size % 2 == 0 and state.communities > 0)

    return keeps


def _sorted_by_truth(private: Any, measurement: Any) -> Any:
    """The pairs of TmF in the order of the true degrees of their ends."""
    degrees, cells = true_degrees(private), measurement.cells
    u, v = UNDIRECTED.pair_of(cells, degrees.size, inside=False)
    return dataclasses.replace(
        measurement, cells=cells[np.argsort(degrees[u] + degrees[v], kind="stable")]
    )


def _sharper(real: Any) -> Any:
    def splits(*arguments: Any, epsilon: Fraction, **options: Any) -> Any:
        return real(*arguments, epsilon=4 * epsilon, **options)

    return splits


METHODS = (
    Mutant(
        "degrees have sensitivity 1",
        "psgraph",
        (Swap("psgraph.methods.queries:InnerDegrees.sensitivity", lambda _real: 1),),
        ("enumeration", "replay"),
    ),
    Mutant(
        "outer degrees and community edges have all of ε each",
        "psgraph",
        (Swap(f"{PSGRAPH}:structure_epsilons", lambda _real: lambda epsilon: (epsilon,) * 3),),
        ("enumeration", "replay"),
    ),
    Mutant(
        "the structure is measured on a second split that is not paid for",
        "psgraph",
        (Swap(f"{PSGRAPH}:measure_structure", _split_again_unpaid),),
        ("replay",),
    ),
    Mutant(
        "a count is drawn without a query",
        "psgraph",
        (Swap(f"{PSGRAPH}:PSGraph.measure", _count_without_a_query),),
        ("replay",),
    ),
    Mutant(
        "the true edge count is released",
        "psgraph",
        (Swap(f"{PSGRAPH}:PSGraph.measure", then(_true_edges)),),
        ("replay",),
    ),
    Mutant(
        "degrees are capped at the true maximum",
        "psgraph",
        (Swap(f"{PSGRAPH}:PSGraph.measure", then(_capped_by_truth)),),
        ("replay",),
    ),
    Mutant(
        "degrees are fused with the true ones",
        "psgraph",
        (Swap(f"{PSGRAPH}:PSGraph.measure", then(_fused_with_truth)),),
        ("replay",),
    ),
    Mutant(
        "the roster is taken from the edges without saying so",
        "psgraph",
        (Swap(f"{PSGRAPH}:PSGraph.measure", _roster_from_edges),),
        ("replay",),
    ),
    Mutant(
        "graphs without edges take a shortcut",
        "psgraph",
        (Swap(f"{PSGRAPH}:find_communities", _skipping_empty_graphs),),
        ("replay",),
    ),
    Mutant(
        "communities are found on a budget of their own",
        "psgraph",
        (Swap(f"{PSGRAPH}:find_communities", _on_a_free_budget),),
        ("replay",),
        (("supernode_size", 2),),
    ),
    Mutant(
        "the true count decides whether communities are kept",
        "psgraph",
        (
            Swap(f"{PSGRAPH}:PSGraph.measure", remembering),
            Swap(f"{PSGRAPH}:PSGraph._keeps", _keeping_by_truth),
        ),
        ("replay",),
    ),
    Mutant(
        "communities are kept by the true count of the timestamp before",
        "psgraph",
        (
            Swap(f"{PSGRAPH}:PSGraph.measure", remembering_for_later),
            Edit(
                f"{PSGRAPH}:PSGraph._keeps",
                "state.noisy_edge_count",
                "getattr(self, '_edges_before', state.noisy_edge_count)",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "new nodes join the communities of their true neighbours",
        "psgraph",
        (
            Edit(
                f"{PSGRAPH}:keep_communities",
                "    return renumbered(carried)",
                "    u, v = private._edges.parts.whole()\n"
                "    carried[u[~stayed[u]]] = carried[v[~stayed[u]]]\n"
                "    carried[v[~stayed[v]]] = carried[u[~stayed[v]]]\n"
                "    return renumbered(carried)",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "where the roster changes the edge count is exact",
        "psgraph",
        (
            Edit(
                f"{PSGRAPH}:PSGraph.measure",
                "noisy_edge_count=noisy_edge_count,",
                "noisy_edge_count=noisy_edge_count if state is None or state.roster == roster"
                f" else {TRUE_EDGES},",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "Louvain sees the true super-graph",
        "privgraph",
        (
            Edit(
                f"{PRIVGRAPH}:find_communities",
                "_louvain(noisy_super_graph, groups,",
                "_louvain(NoisyCounts(noisy_super_graph.size, 0.0, *SuperGraphEdges("
                "group_of, groups).answer(private._edges)), groups,",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "parallel parts overlap",
        "privgraph",
        (
            Edit(
                f"{PRIVGRAPH}:PrivGraph.measure",
                "InnerDegrees(labels, kind=kind)",
                "InnerDegrees(np.zeros_like(labels), kind=kind)",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "TmF's linear filter is called private",
        "tmf",
        (
            Swap(f"{TMF}:UnprovenLinearFilter.proven", lambda _real: True),
            Swap(f"{TMF}:TmF.caveat", lambda _real: None),
        ),
        ("bounds",),
    ),
    Mutant(
        "TmF keeps as many pairs as there are edges",
        "tmf",
        (Edit(f"{TMF}:TmF.measure", "max(noisy_edge_count, 0)", TRUE_EDGES),),
        ("replay",),
    ),
    Mutant(
        "TmF's pairs are in the order of true degrees",
        "tmf",
        (Swap(f"{TMF}:TmF.measure", then(_sorted_by_truth)),),
        ("replay",),
    ),
    Mutant(
        "where ε is 10 or more the edge count is exact",
        "tmf",
        (
            Edit(
                f"{TMF}:TmF.measure",
                "keep = min(",
                "if private.spending.guarantee.epsilon >= 10:\n"
                f"            noisy_edge_count = {TRUE_EDGES}\n"
                "        keep = min(",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "LDPGen's degrees have sensitivity 1",
        "ldpgen",
        (Swap(f"{LDPGEN}:LDPGen._sensitivity", lambda _real: 1),),
        ("replay",),
    ),
    Mutant(
        "LDPGen's number of groups comes from true degrees",
        "ldpgen",
        (
            Edit(
                f"{LDPGEN}:LDPGen.measure",
                "self._groups(noisy, first_epsilon)",
                f"self._groups({TRUE_DEGREES}[:, None], first_epsilon)",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "LDPGen's degrees are shifted by the true minimum",
        "ldpgen",
        (
            Edit(
                f"{LDPGEN}:LDPGen.measure",
                "return LDPGenMeasurement(",
                f"noisy = noisy - {TRUE_DEGREES}.min(initial=nodes)\n    return LDPGenMeasurement(",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "PrivHRG's chain is as long as the graph is large",
        "privhrg",
        (
            Edit(
                f"{PRIVHRG}:PrivHRG.measure",
                "steps=self.steps_per_node * nodes",
                f"steps=self.steps_per_node * {TRUE_EDGES}",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "PrivHRG keeps the random dendrogram where it fits better",
        "privhrg",
        (
            Edit(
                f"{PRIVHRG}:PrivHRG.measure",
                "tree = private.ask(walk, epsilon=tree_epsilon)",
                "found = private.ask(walk, epsilon=tree_epsilon)\n"
                "            from psgraph.methods.privhrg.dendrogram_walk import log_likelihood\n"
                "            at = adjacency(private._edges)\n"
                "            tree = max(found, tree, key=lambda each: log_likelihood(each, *at))",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "DER's root count is exact",
        "der",
        (
            Edit(
                f"{DER}:explore",
                "noisy = private.ask(RectangleCounts(area, level), epsilon=epsilon)",
                "noisy = private.ask(RectangleCounts(area, level), epsilon=epsilon)\n"
                "        if level == 0:\n"
                "            noisy = RectangleCounts(area, level).answer(private._edges)",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "DER counts an edge in two cells",
        "der",
        (
            Swap(
                "psgraph.methods.der.areas:RectangleCounts.answer",
                lambda real: lambda self, edges: 2 * real(self, edges),
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "DER's depth comes from the true edge count",
        "der",
        (
            Edit(
                f"{DER}:explore",
                "depth = tree_depth(nodes, count_epsilon)",
                f"depth = min(tree_depth(nodes, count_epsilon), {TRUE_EDGES}.bit_length())",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "windows of 5 or more number DER's nodes by true degree",
        "der",
        (
            Edit(
                f"{DER}:DER._numbering",
                'if self.order == "random":\n',
                'if self.order == "random":\n'
                "        if private.spending.guarantee.window >= 5:\n"
                f"            return np.argsort(-{TRUE_DEGREES}, kind='stable')\n",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "DER's split choice is twice as sharp",
        "der",
        (Swap("psgraph.methods.der.splits:choose_splits", _sharper),),
        ("samplers",),
    ),
)
