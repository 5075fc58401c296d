"""Figures: every experiment draws, also in part, and a method looks the same in all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_hex

from psgraph.errors import DataError
from psgraph.methods.registry import method_names
from psgraph.pictures.style import method_look
from psgraph_lab.experiments.definition import Experiment, experiment_names, find_experiment
from psgraph_lab.experiments.figures import compose, draw, line_looks
from psgraph_lab.experiments.labels import choose_scale, found_metric
from psgraph_lab.experiments.summary import Curve, summarise

from .made_up import made_up

LINES = [
    name
    for name in experiment_names()
    if name not in ("calibration", "claims") and find_experiment(name).view == "lines"
]
FEW = ("as-caida", "wiki-talk")
METHODS = {name: method_look(name) for name in method_names()}


def curves_of(experiment: Experiment, datasets: tuple[str, ...] = FEW) -> list[Curve]:
    return summarise(experiment, made_up(experiment, datasets=datasets))


def on_few(name: str) -> Experiment:
    return find_experiment(name).narrowed(datasets=FEW, repetitions=2)


@pytest.mark.parametrize("name", LINES)
def test_a_row_per_metric_and_a_column_per_data_set(name: str) -> None:
    experiment = on_few(name)
    figure = compose(experiment, curves_of(experiment))
    assert len(figure.axes) == len(experiment.metrics) * len(FEW)
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["As-caida", "Wiki-talk\n(stand-in for Reddit)"] + [""] * (len(titles) - 2)
    for row, metric in enumerate(experiment.metrics):
        info = found_metric(metric)
        label = figure.axes[row * len(FEW)].get_ylabel()
        words = f"{info.heading} {info.better} is better {info.arrow}"
        assert " ".join(label.splitlines()).startswith(words)


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("end-to-end", ["PSGraph", "TmF", "DER", "PrivHRG", "LDPGen", "PrivGraph"]),
        ("judgement", ["PSGraph", "PSGraph-R1"]),
        ("threshold", ["ε = 1.5", "ε = 2.5", "ε = 3.5"]),
    ],
)
def test_one_legend_for_all_panels(name: str, labels: list[str]) -> None:
    experiment = on_few(name)
    figure = compose(experiment, curves_of(experiment))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == labels
    assert not any(axes.get_legend() for axes in figure.axes)


def test_a_method_has_one_look_in_all_experiments_and_no_variant_shares_it() -> None:
    seen: dict[str, set[str]] = {}
    for name in LINES:
        experiment = on_few(name)
        plain = {line.label: line.method for line in experiment.lines if not line.is_variant}
        looks = line_looks(experiment, curves_of(experiment))
        assert len({look.colour for look, _ in looks.values()}) == len(looks)
        for label, (look, _) in looks.items():
            key = plain.get(label, "variant")
            seen.setdefault(key, set()).add(look.colour)
    own = {method: look.colour for method, look in METHODS.items()}
    assert {key: colours for key, colours in seen.items() if key != "variant"} == {
        method: {colour} for method, colour in own.items()
    }
    assert not seen["variant"] & set(own.values())


def test_colours_do_not_depend_on_what_has_been_run() -> None:
    experiment = on_few("components")
    curves = curves_of(experiment)
    whole = line_looks(experiment, curves)
    for curve in curves:
        assert line_looks(experiment, [curve]) == {curve.label: whole[curve.label]}
    assert list(line_looks(experiment, curves[::-1])) == list(whole)


def test_several_budgets_of_several_methods_differ_by_dashes() -> None:
    experiment = on_few("window").narrowed(epsilons=["1", "2"], methods=["psgraph", "tmf"])
    looks = line_looks(experiment, curves_of(experiment))
    assert len(set(looks.values())) == len(looks) == 4
    assert looks["PSGraph, ε = 1"][0] == looks["PSGraph, ε = 2"][0] == METHODS["psgraph"]


def test_lines_go_through_the_means() -> None:
    experiment = on_few("end-to-end")
    curves = curves_of(experiment)
    figure = compose(experiment, curves)
    for row, metric in enumerate(experiment.metrics):
        for column, dataset in enumerate(FEW):
            drawn = {line.get_label(): line for line in figure.axes[2 * row + column].get_lines()}
            for curve in curves:
                if curve.dataset == dataset:
                    line = drawn[curve.label]
                    assert np.array_equal(line.get_xdata(), curve.x)
                    assert np.array_equal(line.get_ydata(), curve.mean[metric])
                    assert to_hex(line.get_color()) == METHODS[curve.method].colour


def test_time_is_drawn_over_the_number_of_edges() -> None:
    experiment = on_few("scalability")
    curves = curves_of(experiment)
    (first, *_) = compose(experiment, curves).axes
    assert np.array_equal(first.get_lines()[0].get_xdata(), curves[0].mean["edges"])


def test_bars_are_as_long_as_the_means() -> None:
    experiment = on_few("cost")
    curves = [curve for curve in curves_of(experiment) if curve.dataset == "as-caida"]
    figure = compose(experiment, curves)
    for axes, metric in zip(figure.axes, experiment.metrics, strict=True):
        ends = [bar.get_x() + bar.get_width() for bar in axes.patches]
        assert ends == pytest.approx([curve.mean[metric][0] for curve in curves])


def test_a_data_set_with_one_method_only_draws(tmp_path: Path) -> None:
    experiment = on_few("end-to-end")
    curves = [c for c in curves_of(experiment) if c.dataset == "as-caida" or c.method == "tmf"]
    figure = compose(experiment, curves)
    assert len(figure.axes[1].get_lines()) == 1
    alone = compose(experiment, [curve for curve in curves if curve.dataset == "wiki-talk"])
    assert len(alone.axes) == 5


@pytest.mark.parametrize("name", LINES)
def test_nothing_at_all_says_what_to_run(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"psgraph experiment run {name}"):
        draw(find_experiment(name), [], tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_files_are_small_and_the_drawing_stands_alone(tmp_path: Path) -> None:
    experiment = find_experiment("timestamps")
    png, svg = draw(experiment, summarise(experiment, made_up(experiment)), tmp_path / "all")
    assert png.read_bytes()[:4] == b"\x89PNG"
    assert png.stat().st_size <= 500_000
    assert svg.stat().st_size <= 400_000
    root = ElementTree.fromstring(svg.read_bytes())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    words = {"".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"As-733", "(stand-in for Reddit)", "PrivHRG", "timestamp"} <= words
    assert svg.read_text().count("http") == 1  # the name of what it is; nothing is fetched


def test_the_same_results_give_the_same_files(tmp_path: Path) -> None:
    experiment = on_few("scalability")
    curves = curves_of(experiment)
    first = [path.read_bytes() for path in draw(experiment, curves, tmp_path / "first")]
    second = [path.read_bytes() for path in draw(experiment, curves, tmp_path / "second")]
    assert first == second


ODD = st.one_of(
    st.just(0.0),
    st.floats(0, 1),
    st.floats(1e-12, 1e12),
    st.just(float("nan")),
)


@settings(max_examples=12)
@given(st.lists(st.tuples(ODD, st.floats(0, 10)), min_size=2, max_size=6), st.booleans())
def test_odd_values_draw_and_lie_inside_their_axes(
    values: list[tuple[float, float]], higher: bool
) -> None:
    metric = "eigenvector_overlap" if higher else "density_error"
    experiment = replace(on_few("end-to-end"), metrics=(metric,))
    mean, std = (np.array(part) for part in zip(*values, strict=True))
    x, count = np.arange(1.0, mean.size + 1), np.full(mean.size, 2)
    curve = Curve("demo", "TmF", "tmf", None, x, {metric: mean}, {metric: std}, count)
    scale = choose_scale([[curve]], found_metric(metric))
    low, high = scale.limits[0]
    shown = mean[np.isfinite(mean)]
    assert (shown <= high).all()
    if scale.kind == "linear":
        assert (shown >= low).all()
        assert low == 0
    else:
        assert not higher
        assert scale.words.startswith("log scale")
        assert (shown[shown > high / 1e5] >= low).all()
    compose(experiment, [curve]).draw_without_rendering()


@pytest.mark.parametrize(
    ("levels", "kind", "shared"),
    [
        ((0.1, 0.2), "linear", True),
        ((0.1, 0.9), "linear", False),
        ((0.001, 10.0), "log", True),
        ((0.0, 0.001, 10.0), "symlog", True),
    ],
)
def test_scales(levels: tuple[float, ...], kind: str, shared: bool) -> None:
    def level(value: float) -> Curve:
        one = np.array([value])
        values, none = {"density_error": one}, {"density_error": one * 0}
        return Curve("demo", "TmF", "tmf", None, one, values, none, np.array([1]))

    scale = choose_scale([[level(value)] for value in levels], found_metric("density_error"))
    assert (scale.kind, scale.shared) == (kind, shared)
