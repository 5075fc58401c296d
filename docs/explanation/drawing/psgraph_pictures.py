"""PSGraph step by step on twelve nodes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from drawing.graphs import draw_graph
from drawing.svg import COMMUNITIES, WIDTH, Picture
from drawing.twelve import GUARANTEE, NODES, Step, edges_of, psgraph_steps
from psgraph.graph.kind import UNDIRECTED
from psgraph.methods.psgraph import PSGraph

__all__ = ["communities", "degrees", "next_timestamp", "reconstruction", "repair", "snapshot"]

LEFT, RIGHT = 16, 208  # of the two panels


@cache
def _steps() -> list[Step]:
    return psgraph_steps()


def _caption(picture: Picture, x: float, y: float, words: str, kind: str = "sub") -> None:
    picture.text(x + 88, y, words, kind, anchor="middle")


def _labels(step: Step) -> list[int]:
    return [int(label) for label in step.measurement.labels]


def snapshot() -> str:
    """The snapshot, what its timestamp may spend, and the noisy number of edges."""
    step = _steps()[0]
    edges, noisy = edges_of(step.snapshot), step.measurement.noisy_edge_count
    picture = Picture(
        "PSGraph, step 1: the snapshot and the number of edges",
        f"A private graph of twelve nodes and {len(edges)} edges. Its timestamp may spend epsilon "
        f"over w. A small part buys the noisy number of edges, {noisy}.",
    )
    top = picture.heading("1  The snapshot and its number of edges")
    draw_graph(picture, 20, top + 18, edges, width=180)
    picture.box(12, top, 200, 216, "secret", r=8)
    picture.text(16, top + 232, f"private: {len(edges)} edges", "sub private")
    y = picture.lines(226, top + 20, ("ε/w = 32/4 = 8",), "sub")
    epsilons = {row.label: row for row in PSGraph().plan(GUARANTEE, nodes=NODES)}
    per_edge = epsilons["edges"].epsilon
    y = picture.lines(
        226,
        y + 4,
        (
            f"ε_e = {float(per_edge):g} buys the",
            "number of edges, with",
            f"noise of scale {epsilons['edges'].scale:g}.",
        ),
    )
    y = picture.lines(226, y + 10, (f"noise drawn: {noisy - len(edges):+d}".replace("-", "−"),))
    picture.text(226, y + 4, f"noisy count: {noisy}", "sub public")
    picture.lines(
        226,
        y + 34,
        ("The rest, 7.99: one half", "for communities, the", "other for degrees."),
    )
    end = picture.lines(
        16,
        top + 262,
        (
            "ε_e is at most 0.01, so this noise has scale 100 whatever",
            "ε is. It suits thousands of edges, not 20. The seed was",
            "picked so that it is small here.",
        ),
        "quiet",
    )
    return picture.to_svg(end + 2)


def communities() -> str:
    """Super-nodes, their noisy graph, and the communities after every node chose."""
    step = _steps()[0]
    labels = _labels(step)
    picture = Picture(
        "PSGraph, step 2: communities",
        "Nodes are paired at random. Edges between pairs are counted with noise, Louvain groups "
        "the pairs, and then all nodes choose communities at once by the exponential mechanism.",
    )
    top = picture.heading("2  Communities, found from noisy counts")
    noisy = step.noisy_super_edges
    groups = len(step.super_nodes)
    a, b = UNDIRECTED.pair_of(noisy.cells, groups, inside=True)
    angles = np.linspace(0, 2 * np.pi, groups, endpoint=False) - np.pi / 2
    places = [(102 + 68 * np.cos(at), top + 88 + 68 * np.sin(at)) for at in angles]
    for one, other, value in zip(a, b, noisy.values - noisy.threshold, strict=True):
        if one != other:
            for shift in np.linspace(-1.6, 1.6, 2) if value > 1 else (0.0,):
                x1, y1, x2, y2 = *places[one], *places[other]
                picture.line(x1 + shift, y1 + shift, x2 + shift, y2 + shift, "edge")
    for place, members in zip(places, step.super_nodes, strict=True):
        picture.circle(*place, 20, "ring")
        words = "+".join(str(node + 1) for node in members)
        picture.text(place[0], place[1] + 4, words, "tiny", anchor="middle")
    draw_graph(picture, RIGHT, top, (), labels=labels)
    y = top + 206
    _caption(picture, LEFT, y, "six random pairs")
    _caption(picture, RIGHT, y, "the result")
    for row, members in enumerate(_members(labels)):
        colour, _ = COMMUNITIES[row]
        picture.circle(RIGHT + 14, y + 18 + 18 * row, 5.5, fill=colour)
        picture.text(RIGHT + 26, y + 22 + 18 * row, members, "small")
    picture.text(LEFT + 88, y + 18, "lines: edges counted with", "small quiet", anchor="middle")
    picture.text(LEFT + 88, y + 33, "noise of scale 0.5", "small quiet", anchor="middle")
    end = picture.lines(
        16,
        y + 66,
        (
            "Louvain groups the pairs. Then all nodes choose again,",
            "at once: a community with s neighbours has the weight",
            "e^(s·ε₂/2). Here ε₂ ≈ 2.",
            "1–4 stayed together; 5–8 and 9–12 were split.",
        ),
    )
    return picture.to_svg(end + 2)


def _members(labels: Sequence[int]) -> list[str]:
    return [
        ", ".join(str(node + 1) for node in range(NODES) if labels[node] == label)
        for label in range(max(labels) + 1)
    ]


def degrees() -> str:
    """Inner and outer degrees: true, noisy, and after the limits of each community."""
    step = _steps()[0]
    picture = Picture(
        "PSGraph, step 3: noisy degrees",
        "For every node the number of neighbours inside and outside its community: the true "
        "value, the noisy value, and the value that is used.",
    )
    top = picture.heading("3  Degrees inside and outside communities")
    inner, outer = _true_degrees(step)
    measured = step.measurement
    parts = (
        (
            "inside, noise of scale 0.5",
            inner,
            measured.noisy_inner_degrees,
            step.state.fused_inner_degrees,
        ),
        (
            "outside, noise of scale 1",
            outer,
            measured.noisy_outer_degrees,
            step.state.fused_outer_degrees,
        ),
    )
    y = top
    for words, true, noisy, used in parts:
        y = _degree_chart(picture, y, words, true, noisy, used, _labels(step))
    y = _key(picture, y + 6)
    edges = edges_of(step.snapshot)
    between = sum(_labels(step)[u] != _labels(step)[v] for u, v in edges)
    end = picture.lines(
        16,
        y + 8,
        (
            f"Edges between the two communities: {between}, noisy "
            f"{int(measured.noisy_community_edges.values[0])}.",
            "NormSub makes values non-negative and keeps their sum;",
            "none may exceed what its community allows.",
            "An edge lies inside one community or between two, so",
            "“inside” may spend as much as the other two together.",
        ),
    )
    return picture.to_svg(end + 2)


def _true_degrees(step: Step) -> tuple[list[int], list[int]]:
    labels = _labels(step)
    inner, outer = [0] * NODES, [0] * NODES
    for pair in edges_of(step.snapshot):
        counted = inner if labels[pair[0]] == labels[pair[1]] else outer
        for node in pair:
            counted[node] += 1
    return inner, outer


def _degree_chart(
    picture: Picture,
    top: float,
    words: str,
    true: Sequence[int],
    noisy: Sequence[int],
    used: Sequence[float],
    labels: Sequence[int],
) -> float:
    """Draw true values as rings, noisy ones as dots and used ones as bars."""
    picture.text(16, top + 12, words, "sub")
    base, unit, left, step = top + 112, 17.0, 40.0, 28.6
    lowest = min(0, *map(int, noisy))
    for value in range(lowest, 5):
        y = base - unit * value
        picture.line(left, y, WIDTH - 16, y, "axis")
        picture.text(left - 8, y + 4, f"{value}".replace("-", "−"), "tiny quiet", anchor="end")
    names = base + 28 - unit * lowest
    for node in range(NODES):
        x = left + step * (node + 0.5)
        picture.box(
            x - 9, base - unit * float(used[node]), 18, unit * float(used[node]), "faint", r=2
        )
        picture.circle(x - 3.5, base - unit * true[node], 4.2, "ring")
        picture.circle(x + 3.5, base - unit * int(noisy[node]), 4.2, "dot")
        picture.circle(x, names, 9.5, fill=COMMUNITIES[labels[node]][0])
        fill = COMMUNITIES[labels[node]][1]
        picture.text(x, names + 3.5, str(node + 1), "tiny", anchor="middle", fill=fill)
    return names + 22


def _key(picture: Picture, y: float) -> float:
    picture.circle(22, y, 4.2, "ring")
    picture.text(32, y + 4, "true (private)", "small private")
    picture.circle(136, y, 4.2, "dot")
    picture.text(146, y + 4, "noisy", "small")
    picture.box(206, y - 6, 14, 12, "faint", r=2)
    picture.text(226, y + 4, "used from here on", "small")
    return y + 20


def reconstruction() -> str:
    """The probability of every pair, and the edges drawn."""
    step = _steps()[0]
    picture = Picture(
        "PSGraph, step 4: reconstruction",
        "Every pair of nodes gets a probability from the noisy degrees. Drawing each pair once "
        f"gives {len(step.drawn)} edges.",
    )
    top = picture.heading("4  Reconstruction: a coin for every pair")
    order = sorted(range(NODES), key=lambda node: (_labels(step)[node], node))
    side = 13.2
    for row, x in enumerate(order):
        y = top + 16 + side * row
        for column, other in enumerate(order):
            if x != other:
                chance = _probability(step, min(x, other), max(x, other))
                picture.shade(LEFT + 16 + side * column, y, side - 1, min(chance, 1.0))
        for at in ((LEFT + 8, y + 10), (LEFT + 22 + side * row, top + 9)):
            picture.text(*at, str(x + 1), "micro quiet", anchor="middle")
    draw_graph(picture, RIGHT, top, step.drawn, labels=_labels(step))
    _caption(picture, LEFT, top + 206, "probability of each pair")
    _caption(picture, RIGHT, top + 206, f"drawn: {len(step.drawn)} edges")
    end = picture.lines(
        16,
        top + 236,
        (
            "Inside a community p = d_x·d_y / Σd, from degrees inside.",
            "Between two: from degrees outside and edges between.",
            "The true graph is not consulted.",
        ),
    )
    return picture.to_svg(end + 2)


def _probability(step: Step, x: int, y: int) -> float:
    """Equations 2 to 4 for one pair, with two communities at most."""
    labels, state = np.array(_labels(step)), step.state
    inner, outer = state.fused_inner_degrees, state.fused_outer_degrees
    if labels[x] == labels[y]:
        return float(inner[x] * inner[y] / inner[labels == labels[x]].sum())
    a, b = sorted((labels[x], labels[y]))
    for head, tail, edges in zip(*state.community_pairs, state.community_edges, strict=True):
        if (head, tail) == (a, b):
            joined = (state.community_pairs[0] == a) | (state.community_pairs[1] == a)
            total = state.community_edges[joined].sum() * outer[labels == b].sum()
            return float(outer[x] * outer[y] * edges / total)
    return 0.0


def repair() -> str:
    """The edges that the repair adds."""
    step = _steps()[0]
    added = step.repaired - step.drawn
    count = "One edge is" if len(added) == 1 else f"{len(added)} edges are"
    picture = Picture(
        "PSGraph, step 5: repair",
        f"{count} added where degrees fall short, so that the graph has the noisy number of "
        f"edges, {len(step.repaired)}.",
    )
    top = picture.heading("5  Repair, then release")
    labels = _labels(step)
    draw_graph(picture, LEFT, top, step.repaired - added, new=added, labels=labels)
    draw_graph(picture, RIGHT, top, step.repaired, labels=labels)
    words = f"{len(step.drawn)} + {len(added)} edges"
    _caption(picture, LEFT, top + 206, words)
    _caption(picture, RIGHT, top + 206, f"released: {len(step.repaired)} edges", "sub public")
    common = len(step.repaired & edges_of(step.snapshot))
    end = picture.lines(
        16,
        top + 236,
        (
            "Nodes that lack most neighbours get random new ones of",
            f"the kind they lack, until there are {step.measurement.noisy_edge_count} edges.",
            f"{common} of the {len(step.repaired)} edges are true ones. The release does not",
            "say which.",
        ),
    )
    return picture.to_svg(end + 2)


def next_timestamp() -> str:
    """The second timestamp keeps the communities and fuses degrees."""
    before, step = _steps()
    change = abs(step.measurement.noisy_edge_count - before.measurement.noisy_edge_count)
    picture = Picture(
        "PSGraph, step 6: the next timestamp",
        f"The noisy number of edges changed by {change}, no more than the 12 nodes, so communities "
        "are kept. Degrees get twice the budget and are averaged with those before.",
    )
    top = picture.heading("6  The next timestamp keeps communities")
    edges, old = edges_of(step.snapshot), edges_of(before.snapshot)
    labels = _labels(step)
    draw_graph(picture, LEFT, top, edges & old, new=edges - old, gone=old - edges)
    draw_graph(picture, RIGHT, top, step.repaired, labels=labels)
    _caption(picture, LEFT, top + 206, f"private: {len(edges)} edges", "sub private")
    _caption(picture, RIGHT, top + 206, f"released: {len(step.repaired)} edges", "sub public")
    inner, _ = _true_degrees(step)
    y = picture.lines(
        16,
        top + 232,
        (
            f"Noisy count {step.measurement.noisy_edge_count}, before "
            f"{before.measurement.noisy_edge_count}: a change of {change}, no more",
            "than the 12 nodes. Communities are kept, for free, and",
            "degrees get all of 7.99: half the noise.",
        ),
    )
    measured = step.measurement.noisy_inner_degrees
    words = "inside, noise of scale 0.25, then fused"
    y = _degree_chart(
        picture, y + 2, words, inner, measured, step.state.fused_inner_degrees, labels
    )
    y = _key(picture, y + 6)
    end = picture.lines(
        16,
        y + 8,
        (
            "Used: 2/3 of the new value + 1/3 of the one before. The",
            "weights are those of the budgets they were bought with.",
        ),
    )
    return picture.to_svg(end + 2)
