"""Pictures: what they say, that they fit, and that every graph can be drawn."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.errors import DataError, InvalidArgument, OutputError
from psgraph.graph import (
    DIRECTED,
    TWO_SIDED,
    Kind,
    Roster,
    Snapshot,
    SyntheticGraph,
    TwoSidedRoster,
)
from psgraph.metrics import compare, compute_fidelity
from psgraph.pictures import draw_side_by_side
from psgraph.pictures.layout import _pack, arrange
from psgraph.pictures.network import _sampled, arrows_fit, network_png
from psgraph.pictures.side_by_side import _compose
from psgraph.streams.demo import demo_stream


def rewired(snapshot: Snapshot, *, seed: int = 0) -> SyntheticGraph:
    """Ends of the edges shuffled: nearly the same degrees, no communities."""
    ends = np.concatenate([snapshot.u, snapshot.v])
    np.random.default_rng(seed).shuffle(ends)
    half = snapshot.u.size
    return SyntheticGraph(snapshot.roster, ends[:half], ends[half:], time=snapshot.time)


@pytest.fixture(scope="module")
def stream():
    return demo_stream(nodes=400, timestamps=3)


def size_of_png(path):
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def test_png_is_wide_enough_for_a_readme_and_always_the_same(stream, tmp_path):
    synthetic = rewired(stream[0])
    first = draw_side_by_side(
        stream[0], {"psgraph": synthetic}, tmp_path / "first.png", title="ε = 1, w = 3"
    )
    second = draw_side_by_side(
        stream[0], {"psgraph": synthetic}, str(tmp_path / "second.PNG"), title="ε = 1, w = 3"
    )
    width, height = size_of_png(first)
    assert 1200 <= width <= 2000
    assert height < width
    assert first.read_bytes() == second.read_bytes()


def test_svg_stays_below_two_megabytes_and_is_always_the_same(tmp_path):
    crowd = demo_stream(nodes=2_600, timestamps=1)[0]
    assert crowd.u.size > 20_000
    paths = [
        draw_side_by_side(crowd, {"psgraph": rewired(crowd)}, tmp_path / name, title="a crowd")
        for name in ("first.svg", "second.svg")
    ]
    assert paths[0].stat().st_size < 2_000_000
    assert paths[0].read_text().lstrip().startswith("<?xml")
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_many_edges_are_sampled_without_repeats():
    crowd = demo_stream(nodes=2_600, timestamps=1)[0]
    chosen = _sampled(crowd)
    assert chosen.size == np.unique(chosen).size == 20_000
    assert np.array_equal(chosen, _sampled(crowd))


def texts(figure):
    return [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]


def test_the_original_is_marked_and_the_numbers_are_those_of_the_metrics(stream):
    synthetic = rewired(stream[0])
    fidelity = compute_fidelity(stream[0], synthetic)
    figure = _compose(
        stream[0], {"tmf": synthetic}, {"tmf": fidelity}, title="a title", comparisons=None
    )
    written = texts(figure)
    assert "private, for the curator only" in written
    assert "a title" in written
    assert "Original · 2024-01-01" in written
    assert "TmF" in written
    assert f"{100 * fidelity.clustering_error:.1f} %" in written
    assert len(figure.axes) == 3


def test_a_comparison_adds_a_panel_per_metric(stream):
    releases = [rewired(snapshot) for snapshot in stream]
    comparison = compare(stream, releases)
    fidelity = comparison.rows[-1].fidelity
    figure = _compose(
        stream[-1],
        {"tmf": releases[-1]},
        {"tmf": fidelity},
        title=None,
        comparisons={"tmf": comparison},
    )
    assert len(figure.axes) == 8
    drawn = [axes.lines[0].get_ydata() for axes in figure.axes[3:]]
    expected = [row.fidelity.degree_divergence for row in comparison.rows]
    assert list(drawn[2]) == expected
    assert f"{100 * comparison.mean.density_error:.1f} %" in texts(figure)


@pytest.mark.parametrize("methods", [["tmf"], ["psgraph", "psgraph-plus"]])
@pytest.mark.parametrize("over_time", [True, False])
def test_no_text_overlaps_another(stream, methods, over_time):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    releases = [rewired(snapshot) for snapshot in stream]
    comparison = compare(stream, releases)
    figure = _compose(
        stream[0],
        dict.fromkeys(methods, releases[0]),
        dict.fromkeys(methods, comparison.rows[0].fidelity),
        title="A title",
        comparisons=dict.fromkeys(methods, comparison) if over_time else None,
    )
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [text.get_window_extent(renderer) for text in figure.texts]
    width, height = figure.canvas.get_width_height()
    for index, box in enumerate(boxes):
        assert box.x0 >= 0
        assert box.x1 <= width
        assert 0 <= box.y0 < box.y1 <= height
        assert not any(box.overlaps(other) for other in boxes[:index])


def test_two_releases_stand_beside_the_original_with_a_line_each_in_every_chart(stream):
    releases = [rewired(snapshot) for snapshot in stream]
    comparison = compare(stream, releases)
    methods = ["psgraph", "psgraph-plus"]
    figure = _compose(
        stream[-1],
        dict.fromkeys(methods, releases[-1]),
        dict.fromkeys(methods, comparison.rows[-1].fidelity),
        title=None,
        comparisons=dict.fromkeys(methods, comparison),
    )
    assert len(figure.axes) == 3 + 1 + 5
    assert {"PSGraph", "PSGraph+"} <= set(texts(figure))
    assert [len(axes.lines) for axes in figure.axes[3:]] == [3, 2, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("nodes", "edges"),
    [(0, []), (1, []), (2, []), (2, [(0, 1)]), (6, [(0, 1), (1, 2), (0, 2)]), (50, [(3, 4)])],
)
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_every_graph_can_be_drawn(tmp_path, nodes, edges, suffix):
    ends = np.array(edges, dtype=int).reshape(-1, 2)
    original = Snapshot(Roster.range(nodes), ends[:, 0], ends[:, 1], time="$t")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for synthetic in (
            SyntheticGraph(original.roster, [], []),
            SyntheticGraph(original.roster, ends[:, 0], ends[:, 1]),
        ):
            comparison = compare([original], [synthetic])
            path = tmp_path / f"pair.{suffix}"
            draw_side_by_side(
                original,
                {"$ plugin $": synthetic},
                path,
                title="$ no maths",
                comparisons={"$ plugin $": comparison},
            )


def test_wrong_suffix_other_nodes_and_no_place(stream, tmp_path):
    synthetic = rewired(stream[0])
    with pytest.raises(InvalidArgument, match=r"\.png or \.svg"):
        draw_side_by_side(stream[0], {"tmf": synthetic}, tmp_path / "pair.pdf")
    with pytest.raises(InvalidArgument):
        draw_side_by_side(stream[0], {}, tmp_path / "pair.png")
    with pytest.raises(OutputError):
        draw_side_by_side(stream[0], {"tmf": synthetic}, tmp_path / "nowhere" / "pair.png")
    with pytest.raises(DataError):
        draw_side_by_side(stream[0], {"tmf": rewired(stream[-1])}, tmp_path / "pair.png")
    assert not list(tmp_path.iterdir())


def test_places_depend_on_the_original_alone_and_discs_hold_their_nodes(stream):
    layout = arrange(stream[0])
    assert np.array_equal(layout.positions, arrange(stream[0]).positions)
    assert np.abs(layout.positions).max() <= 1
    assert layout.labels.max() >= 3
    labels = np.where(layout.labels < 0, layout.radii.size - 1, layout.labels)
    distance = np.hypot(*(layout.positions - layout.centres[labels]).T)
    assert (distance <= layout.radii[labels]).all()
    assert np.unique(layout.positions.round(9), axis=0).shape == layout.positions.shape


@given(st.lists(st.floats(0.5, 40), max_size=9), st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_packed_discs_never_overlap(radii, seed):
    sizes = np.array(radii)
    ties = np.random.default_rng(seed).random((sizes.size, sizes.size))
    centres = _pack(sizes, ties + ties.T)
    apart = np.hypot(*(centres[:, None] - centres[None]).transpose(2, 0, 1))
    np.fill_diagonal(apart, np.inf)
    assert (apart >= sizes[:, None] + sizes[None] - 1e-6).all()


def test_pyplot_and_its_global_state_stay_out():
    code = (
        "import sys, tempfile\n"
        "from psgraph.streams.demo import demo_stream\n"
        "from psgraph.graph import SyntheticGraph\n"
        "import psgraph.pictures\n"
        "assert 'matplotlib' not in sys.modules\n"
        "first = demo_stream(nodes=300, timestamps=1)[0]\n"
        "copy = SyntheticGraph(first.roster, first.u, first.v)\n"
        "with tempfile.TemporaryDirectory() as place:\n"
        "    psgraph.pictures.draw_side_by_side(first, {'tmf': copy}, place + '/pair.png')\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def of_kind(kind: Kind, *, nodes: int = 60, edges: int = 200, seed: int = 0) -> Snapshot:
    rng = np.random.default_rng(seed)
    left = nodes // 3
    weight = rng.integers(1, 30, edges) if kind.weighted else None
    if not kind.two_sided:
        return Snapshot(
            Roster.range(nodes), *rng.integers(0, nodes, (2, edges)), kind=kind, weight=weight
        )
    roster = TwoSidedRoster(Roster.range(left), Roster.range(nodes - left))
    u, v = rng.integers(0, left, edges), rng.integers(left, nodes, edges)
    return Snapshot(roster, u, v, kind=kind, weight=weight)


def test_the_sides_of_a_graph_are_two_columns():
    graph = of_kind(TWO_SIDED)
    layout = arrange(graph)
    cut = graph.roster.offset
    assert (layout.positions[:cut, 0] < -0.5).all()
    assert (layout.positions[cut:, 0] > 0.5).all()
    assert (abs(layout.positions) <= 1).all()
    assert np.unique(layout.positions.round(6), axis=0).shape[0] == len(graph.roster)


@pytest.mark.parametrize("kind", [DIRECTED, DIRECTED.with_weights(64), TWO_SIDED.with_weights(64)])
@pytest.mark.parametrize("over_time", [True, False])
def test_pictures_of_every_kind_show_its_curves_and_no_text_overlaps(kind, over_time):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    stream = [of_kind(kind, seed=seed) for seed in range(3)]
    releases = [
        SyntheticGraph(each.roster, each.u, each.v, kind=kind, weight=each.weight)
        for each in stream[::-1]
    ]
    comparison = compare(stream, releases)
    figure = _compose(
        stream[-1],
        {"tmf": releases[-1]},
        {"tmf": comparison.rows[-1].fidelity},
        title="a title",
        comparisons={"tmf": comparison} if over_time else None,
    )
    FigureCanvasAgg(figure).draw()
    titles = [axes.get_title(loc="left") for axes in figure.axes[2:5]]
    sides = ["out-degrees", "in-degrees"]
    if kind.two_sided:
        sides = ["degrees on the left", "degrees on the right"]
    assert titles[: 2 + kind.weighted] == [*sides, *(["weights"] if kind.weighted else [])]
    boxes = [text.get_window_extent() for text in figure.texts]
    assert not [
        (one, other)
        for number, one in enumerate(boxes)
        for other in boxes[:number]
        if one.overlaps(other)
    ]


def test_arrows_are_drawn_where_they_fit():
    few, many = of_kind(DIRECTED), of_kind(DIRECTED, nodes=400, edges=4_000)
    assert arrows_fit(few)
    assert not arrows_fit(few, many)
    assert not arrows_fit(of_kind(TWO_SIDED))
    layout = arrange(few)
    plain, arrows = (
        network_png(few, layout, node_area=1.0, arrows=arrows) for arrows in (False, True)
    )
    assert plain != arrows
