"""PSGraph+: what is measured when, the filter, the degree targets, and graphs grown from graphs."""

from __future__ import annotations

from functools import cache

import numpy as np

from drawing.demo import GUARANTEE, demo_run
from drawing.graphs import draw_graph
from drawing.promise_pictures import spends_of_plus
from drawing.svg import WIDTH, Picture
from drawing.twelve import PlusStep, edges_of, plus_steps

__all__ = ["filtering", "realisation", "schedule", "targets"]

LEFT, RIGHT = 16, 208  # of the two panels
NINTH = 8  # the node of the filter: the ninth largest at the first timestamp
KINDS = (
    ("nodes", "bar", "degrees of all nodes: once per window"),
    ("structure", "second", "degree curve, mixing, triangles: once per window"),
    ("edges", "third", "number of edges: at every timestamp"),
    ("kept", "fourth", "edges kept: once per window, paid by two"),
)


@cache
def _steps() -> list[PlusStep]:
    return plus_steps()


def schedule() -> str:
    """The spends of twelve timestamps, by what they buy."""
    picture = Picture(
        "PSGraph+: what is measured when",
        "Bars of twelve timestamps at epsilon 1 and w 4. Most of the window's budget is spent "
        "where a window begins, on node degrees and structure. The number of edges is asked at "
        "every timestamp.",
    )
    top = picture.heading(
        "What PSGraph+ measures, and when",
        "ε = 1, w = 4. PSGraph would spend 0.25 at each (dashed).",
    )
    spends = spends_of_plus(GUARANTEE, 12)
    left, step, tall, base = 42.0, 28.6, 190.0, top + 208
    for value in (0, 0.25, 0.5, 0.75, 1):
        y = base - tall * value
        picture.line(left, y, WIDTH - 14, y, "rule" if value == 0.25 else "axis")
        picture.text(left - 6, y + 4, f"{value:g}", "tiny quiet", anchor="end")
    for at, spend in enumerate(spends):
        y, x = base, left + step * at
        for kind, look, _ in reversed(KINDS):
            height = tall * float(spend[kind])
            y -= height
            picture.box(x + 4, y, step - 8, height, look)
        picture.text(x + step / 2, base + 15, str(at), "tiny quiet", anchor="middle")
    picture.text(WIDTH - 14, base + 31, "timestamp", "tiny quiet", anchor="end")
    y = base + 48
    for _, look, words in KINDS:
        picture.box(16, y - 10, 12, 12, look, r=2)
        picture.text(36, y, words)
        y += 19
    begins, other = (float(sum(spends[at].values())) for at in (8, 10))
    end = picture.lines(
        16,
        y + 10,
        (
            f"From the third window on: {begins:g} where a window begins,",
            f"{other:g} at most others. The first window divides the share",
            "of degrees: half at once, the rest to see how they change.",
        ),
    )
    return picture.to_svg(end + 2)


def filtering() -> str:
    """The degree of one node: truth, readings and estimates."""
    run = demo_run()
    node = int(np.argsort(-run[0].true, kind="stable")[NINTH])
    true = [int(each.true[node]) for each in run]
    estimates = [float(each.estimated[node]) for each in run]
    doubts = [float(each.deviation[node]) for each in run]
    readings = {at: int(each.noisy[node]) for at, each in enumerate(run) if each.noisy is not None}
    picture = Picture(
        "PSGraph+: one degree, filtered over time",
        f"The degree of one node over twelve timestamps. It is measured at timestamps "
        f"{', '.join(map(str, readings))}. A reading far from the truth moves the estimate little.",
    )
    top = picture.heading(
        "One node's degree, filtered over time",
        "The ninth largest of 300 nodes of the demo stream;",
        "ε = 1, w = 4.",
    )
    left, step, base = 44.0, 29.0, top + 200

    def place(at: float, value: float) -> tuple[float, float]:
        return left + step * (at + 0.5), base - 1.35 * value

    for value in range(0, 141, 20):
        y = place(0, value)[1]
        picture.line(left, y, WIDTH - 12, y, "axis")
        picture.text(left - 6, y + 4, str(value), "tiny quiet", anchor="end")
    for at in range(len(run)):
        x, high = place(at, estimates[at] + doubts[at])
        picture.box(x - 9, high, 18, 2 * 1.35 * doubts[at], "faint", r=3)
        picture.text(x, base + 15, str(at), "tiny quiet", anchor="middle")
    picture.curve([place(at, value) for at, value in enumerate(true)], "truth")
    picture.curve([place(at, value) for at, value in enumerate(estimates)], "estimate")
    for at, value in readings.items():
        picture.circle(*place(at, value), 5, "dot")
    y = base + 40
    picture.line(16, y - 4, 34, y - 4, "truth")
    picture.text(42, y, "true degree (private)", "private")
    picture.circle(202, y - 4, 5, "dot")
    picture.text(214, y, "noisy reading")
    picture.line(16, y + 16, 34, y + 16, "estimate")
    picture.text(42, y + 20, "estimate, ± one standard deviation (shaded)")
    scales = [
        2 / float(spend["nodes"]) for spend in spends_of_plus(GUARANTEE, 12) if spend["nodes"]
    ]
    end = picture.lines(
        16,
        y + 48,
        (
            f"The noise of the four readings has scale {scales[0]:.1f}, {scales[1]:.0f},",
            f"{scales[2]:.1f} and {scales[3]:.1f}. The poor one ({readings[1]}) moves the estimate",
            f"from {estimates[0]:.0f} to {estimates[1]:.0f} only. Without a reading it stays.",
        ),
    )
    return picture.to_svg(end + 2)


def targets() -> str:
    """Degrees by rank: noisy, wanted and true."""
    first = demo_run()[0]
    assert first.noisy is not None
    picture = Picture(
        "PSGraph+: degrees by rank",
        "Sorted degrees of 300 nodes. Noise makes the noisy ones spread too far, down to negative "
        "values. The degrees of the synthetic graph follow the fitted curve, close to the truth.",
    )
    top = picture.heading(
        "Who is large, and how many are",
        "All 300 degrees of timestamp 0, each line sorted.",
    )
    left, base, unit = 44.0, top + 168, 1.75

    def place(rank: int, value: float) -> tuple[float, float]:
        return left + (WIDTH - 12 - left) * (rank + 0.5) / 300, base - unit * min(value, 84)

    for value in range(-20, 81, 20):
        y = place(0, value)[1]
        picture.line(left, y, WIDTH - 12, y, "thin" if value == 0 else "axis")
        picture.text(left - 6, y + 4, str(value).replace("-", "−"), "tiny quiet", anchor="end")
    for rank, value in enumerate(np.sort(first.noisy)[::-1].tolist()):
        if value <= 84:
            picture.circle(*place(rank, value), 1.7, "dot")
    for values, kind in ((first.true, "truth"), (first.synthetic, "estimate")):
        ordered = np.sort(values)[::-1].tolist()
        picture.curve([place(rank, value) for rank, value in enumerate(ordered)], kind)
    for rank in (1, 100, 200, 300):
        picture.text(place(rank - 1, 0)[0], base + 52, str(rank), "tiny quiet", anchor="middle")
    picture.text(
        WIDTH - 12, base + 68, "rank (hubs above 84 are cut off)", "tiny quiet", anchor="end"
    )
    y = base + 88
    picture.line(16, y - 4, 34, y - 4, "truth")
    picture.text(42, y, "true (private)", "private")
    picture.circle(166, y - 4, 3, "dot")
    picture.text(176, y, "noisy")
    picture.line(232, y - 4, 250, y - 4, "estimate")
    picture.text(258, y, "synthetic graph")
    below = int((first.noisy < 0).sum())
    end = picture.lines(
        16,
        y + 30,
        (
            "Sorted noisy degrees spread too far: large ones look",
            f"larger, and {below} of 300 are negative. So noisy degrees only",
            "say who is where in the order. How many nodes have k",
            "neighbours or more is asked separately, and each rank",
            "gets the degree of that curve.",
        ),
    )
    return picture.to_svg(end + 2)


def realisation() -> str:
    """The second release keeps edges of the first."""
    before, step = _steps()
    again = before.edges & step.edges
    picture = Picture(
        "PSGraph+: the next release grows from the last one",
        f"Of {len(before.edges)} synthetic edges, up to {step.most_kept} are kept; "
        f"{len(again)} are there again, {len(step.edges - before.edges)} edges are new.",
    )
    top = picture.heading(
        "The next release grows from the last one",
        "Twelve nodes again, ε = 32, w = 4.",
    )
    draw_graph(picture, LEFT, top, before.edges)
    new, gone = step.edges - before.edges, before.edges - step.edges
    draw_graph(picture, RIGHT, top, step.edges - new, new=new, gone=gone)
    for x, words in (
        (LEFT, f"timestamp 0: {len(before.edges)} edges"),
        (RIGHT, f"timestamp 1: {len(step.edges)} edges"),
    ):
        picture.text(x + 88, top + 206, words, "sub public", anchor="middle")
    y = top + 230
    for x, kind, words in (
        (16, "edge", f"kept: {len(step.edges - new)}"),
        (132, "new", f"new: {len(new)}"),
        (242, "gone", f"not kept: {len(gone)}"),
    ):
        picture.line(x, y - 4, x + 22, y - 4, kind)
        picture.text(x + 30, y, words)
    sizes = step.measurement.sizes
    truth = len(edges_of(step.snapshot) & edges_of(before.snapshot))
    share = round(100 * float(step.state.persistence.level[0]))
    end = picture.lines(
        16,
        y + 32,
        (
            f"Asked: how many edges stayed? True answer {truth}, noisy {sizes.noisy_kept_edges}.",
            f"The filter is cautious at first and assumes {share} %, so",
            f"{step.most_kept} old edges that fit the wanted degrees, by rank",
            "are kept; the rest of the graph is drawn around them.",
        ),
    )
    return picture.to_svg(end + 2)
