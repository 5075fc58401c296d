"""The promise: two worlds that differ in one edge, the sliding window, measure–seal–synthesise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from drawing.graphs import draw_graph
from drawing.svg import WIDTH, Picture
from drawing.twelve import edges_of, stream
from psgraph.methods.plus.schedule import shares_of
from psgraph.methods.plus.shares import Components, Occasion
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy

__all__ = ["lifetime", "measure_seal_synthesise", "spends_of_plus", "two_worlds", "window"]

GUARANTEE = WEventPrivacy(1, window=4)
HIDDEN = (3, 4)  # the edge that one world does not have
#: Edges by how long they are there: a name, the first timestamp and the number of timestamps.
LIVES = (("a call", 2, 3), ("a project", 5, 6), ("a friendship", 1, 11))


def two_worlds() -> str:
    """Two streams that differ in one edge, and the distribution of a released count."""
    picture = Picture(
        "Two worlds that differ in one edge",
        "The same graph with and without one edge. The noisy number of edges has nearly the same "
        "distribution in both worlds: no value is more than e to the epsilon times as likely in "
        "one world as in the other.",
    )
    top = picture.heading(
        "Two worlds that differ in one edge",
        "Are nodes 4 and 5 connected? Whoever sees the releases",
        "should not be able to tell.",
    )
    edges = edges_of(stream()[0])
    for x, name, drawn, gone in (
        (16, "connected: 20 edges", edges, ()),
        (208, "not connected: 19 edges", edges - {HIDDEN}, (HIDDEN,)),
    ):
        new = {HIDDEN} & drawn
        draw_graph(picture, x, top, drawn - new, new=new, gone=gone)
        picture.text(x + 88, top + 206, name, "sub", anchor="middle")
    picture.text(16, top + 240, "What is released: the number of edges plus noise", "sub")
    picture.text(16, top + 257, "Probability of each noisy value, for ε = 1", "quiet small")
    base, middle, step, tall = top + 400, 200.0, 18.5, 260.0
    ratio = math.exp(-1)
    for k in range(10, 30):
        x = middle + (k - 19.5) * step
        for true, shift, kind in ((20, -7, "bar"), (19, 1, "second")):
            chance = (1 - ratio) / (1 + ratio) * ratio ** abs(k - true)
            picture.box(x + shift, base - tall * chance, 6.5, tall * chance, kind)
        if k % 2 == 0 or k == 19:
            picture.text(x, base + 15, str(k), "tiny quiet", anchor="middle")
    picture.line(16, base, WIDTH - 16, base, "axis")
    picture.box(16, base - 112, 11, 11, "bar")
    picture.text(32, base - 102, "connected", "small")
    picture.box(16, base - 94, 11, 11, "second")
    picture.text(32, base - 84, "not connected", "small")
    end = picture.lines(
        16,
        base + 42,
        (
            "No value is more than e^ε = 2.72 times as likely in one",
            "world as in the other. So no value proves the edge, and",
            "nothing computed from the released value can.",
        ),
    )
    return picture.to_svg(end + 2)


def spends_of_plus(guarantee: WEventPrivacy, timestamps: int) -> list[dict[str, Fraction]]:
    """What PSGraph+ spends at each timestamp, by kind, if it asks degrees once per window."""
    spending, found = Accountant(guarantee), []
    for timestamp in range(timestamps):
        mode = "undecided" if timestamp < 2 else "periodic"
        shares = shares_of(
            Components(), spending, Occasion(mode, timestamp % guarantee.window == 0)
        )
        found.append(
            {
                "edges": shares.edges,
                "kept": shares.persistence + shares.reserved,
                "structure": shares.curve + shares.mixing + shares.triangles,
                "nodes": shares.on_nodes,
            }
        )
        spending = spending.record(shares.total)
    return found


def window() -> str:
    """The spends of twelve timestamps under two methods, and windows that slide over them."""
    picture = Picture(
        "The window slides over the spends",
        "Each timestamp spends part of the budget. Every window of four consecutive timestamps "
        "spends at most epsilon. PSGraph spends the same amount everywhere, PSGraph+ most of it "
        "where a window begins.",
    )
    top = picture.heading(
        "Any 4 timestamps in a row spend at most ε",
        "ε = 1, w = 4. One bar for each timestamp, and three of",
        "the windows that slide over them.",
    )
    even = [GUARANTEE.per_timestamp] * 12
    uneven = [sum(spend.values(), Fraction(0)) for spend in spends_of_plus(GUARANTEE, 12)]
    below = _sliding(picture, top + 8, "PSGraph: ε/w at every timestamp", even)
    below = _sliding(picture, below + 22, "PSGraph+: much where a window begins", uneven)
    end = picture.lines(
        16,
        below + 22,
        (
            "When the window moves on, the spends it leaves behind",
            "become available again. A window that would spend more",
            "than ε is refused before anything is measured.",
        ),
    )
    return picture.to_svg(end + 2)


def _sliding(picture: Picture, top: float, title: str, spends: Sequence[Fraction]) -> float:
    """Draw a bar chart with three windows below it; return its lower end."""
    picture.text(16, top + 12, title, "sub")
    left, step, tall, base = 34.0, 29.3, 84.0, top + 112
    picture.line(left, base - tall, WIDTH - 14, base - tall, "rule")
    picture.text(left - 6, base - tall + 4, "ε", "sub", anchor="end")
    picture.text(left - 6, base + 4, "0", "quiet small", anchor="end")
    for at, spend in enumerate(spends):
        x = left + at * step
        picture.box(x + 4, base - tall * float(spend), step - 8, tall * float(spend), "bar", r=2)
        picture.text(x + step / 2, base + 15, str(at), "tiny quiet", anchor="middle")
    picture.line(left, base, WIDTH - 14, base, "axis")
    for row, first in enumerate((1, 4, 7)):
        y = base + 24 + 23 * row
        total = sum(spends[first : first + 4], Fraction(0))
        picture.box(left + first * step + 2, y, 4 * step - 4, 18, "window", r=5)
        middle = left + (first + 2) * step
        words = f"spends {float(total):.3g}"
        picture.text(middle, y + 13, words, "small", anchor="middle")
    return base + 24 + 3 * 23


def lifetime() -> str:
    """How far the promise reaches for edges that live longer than a window."""
    picture = Picture(
        "What the promise is worth for edges that last",
        "An edge that is present for at most w timestamps is protected with epsilon. One that is "
        "present longer is protected with epsilon for each window it needs.",
    )
    top = picture.heading(
        "The promise covers one window",
        "w = 4. Bars: the timestamps at which a pair is connected.",
    )
    left, step = 34.0, 29.3
    for at in range(12):
        x = left + step * at
        picture.text(x + step / 2, top + 6, str(at), "tiny quiet", anchor="middle")
    for row, (words, first, length) in enumerate(LIVES):
        windows = -(-length // GUARANTEE.window)
        times = "ε" if windows == 1 else f"{windows}·ε"
        y = top + 20 + 60 * row
        for at in range(13):
            picture.line(left + step * at, y + 17, left + step * at, y + 41, "axis")
        for part in range(windows):
            begin = first + part * GUARANTEE.window
            size = min(GUARANTEE.window, first + length - begin)
            look = ("bar", "second", "third")[part]
            picture.box(left + step * begin + 1, y + 20, step * size - 2, 18, look, r=3)
        picture.text(left, y + 12, f"{words}: {length} timestamps, protected with {times}", "small")
    end = picture.lines(
        16,
        top + 222,
        (
            "Lifetime divided by w, rounded up, times ε. Choose w so",
            "that what must stay hidden fits into one window.",
            "A person with d connections is protected with up to d·ε.",
        ),
    )
    return picture.to_svg(end + 2)


def measure_seal_synthesise() -> str:
    """The three steps of a timestamp and what each may see."""
    picture = Picture(
        "Measure, seal, synthesise",
        "Private edges are read in one step only, through mechanisms that add noise and charge "
        "the budget. The noisy values are sealed in the ledger before anything is shown. All "
        "that follows works on sealed values and can be repeated.",
    )
    top = picture.heading(
        "Measure → seal → synthesise", "One timestamp, from private edges to a release."
    )
    boxes = (
        ("Snapshot", ("the roster is public,", "the edges are private"), "secret"),
        (
            "1  Measure",
            ("only through mechanisms: each adds noise", "and charges the budget for it"),
            "box",
        ),
        (
            "2  Seal",
            ("noisy values, spend and a random seed go", "to the ledger, durably, before all else"),
            "box",
        ),
        (
            "3  Synthesise",
            ("from sealed values, the past and the seed;", "it has no access to the snapshot"),
            "box",
        ),
        ("Release", ("a synthetic graph and its certificate,", "for analysts"), "open"),
    )
    y = top + 4
    for index, (name, lines, kind) in enumerate(boxes):
        picture.box(56, y, 288, 66, kind, r=8)
        look = {"secret": "sub private", "open": "sub public"}.get(kind, "sub")
        picture.text(200, y + 21, name, look, anchor="middle")
        for row, line in enumerate(lines):
            picture.text(200, y + 39 + 16 * row, line, "small", anchor="middle")
        y += 66
        if index + 1 < len(boxes):
            gap = 56 if index == 1 else 30
            picture.arrow(200, y + 3, 200, y + gap - 4)
            if index == 1:
                picture.line(16, y + gap / 2, 188, y + gap / 2, "rule")
                picture.line(212, y + gap / 2, WIDTH - 16, y + gap / 2, "rule")
                picture.text(16, y + gap / 2 - 7, "private above", "small private")
                picture.text(
                    WIDTH - 16,
                    y + gap / 2 + 17,
                    "noisy values only below",
                    "small public",
                    anchor="end",
                )
            y += gap
    end = picture.lines(
        16,
        y + 26,
        (
            "A crash after sealing loses nothing: step 3 runs again and",
            "gives the same bytes. A crash before it shows nothing.",
        ),
    )
    return picture.to_svg(end + 2)
