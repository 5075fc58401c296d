"""evaluate: methods on one's own stream."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import psgraph as pg
from psgraph.errors import BudgetError, DataError, InvalidArgument, MissingExtra
from psgraph.metrics.comparison import compare
from psgraph.metrics.evaluation import NOT_PRIVATE, Evaluation

STREAM = pg.demo_stream(nodes=300, timestamps=3)


class Mine(pg.TmF):
    """A plug-in that nobody installed."""

    name = "mine"


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    methods = ["tmf", pg.TmF(count_share="0.2"), Mine]
    return pg.evaluate(STREAM, methods=methods, epsilons=[2, "1"], window=2, repeats=2)


def test_methods_come_by_name_object_and_class(evaluation: Evaluation) -> None:
    assert evaluation.methods == ("tmf", "tmf(count_share=0.2)", "mine")
    assert [float(epsilon) for epsilon in evaluation.epsilons] == [1.0, 2.0]
    assert len(evaluation.runs) == 3 * 2 * 2


def test_the_tidy_table_has_one_row_per_value(evaluation: Evaluation) -> None:
    frame = evaluation.to_pandas()
    assert list(frame.columns) == [
        "method",
        "epsilon",
        "window",
        "repeat",
        "timestamp",
        "time",
        "metric",
        "value",
    ]
    assert len(frame) == 12 * 3 * 7
    assert not frame.duplicated(["method", "epsilon", "repeat", "timestamp", "metric"]).any()


def test_a_run_is_what_publishing_and_comparing_by_hand_gives(evaluation: Evaluation) -> None:
    run = evaluation.runs[0]
    guarantee = pg.WEventPrivacy(run.epsilon, window=2)
    with pg.Publisher(pg.TmF(), guarantee, seed=run.seed) as publisher:
        assert run.comparison == compare(STREAM, publisher.publish_all(STREAM))


def test_no_two_runs_share_their_noise_and_the_seed_fixes_all(evaluation: Evaluation) -> None:
    assert len({run.seed for run in evaluation.runs}) == len(evaluation.runs)
    again = pg.evaluate(STREAM, methods="tmf", epsilons=2, window=2, repeats=1)
    assert again.runs[0] == evaluation.runs[0]
    other = pg.evaluate(STREAM, methods="tmf", epsilons=2, window=2, repeats=1, seed=1)
    assert other.runs[0].seed != again.runs[0].seed


def test_the_summary_has_mean_and_standard_error_over_repetitions(evaluation: Evaluation) -> None:
    row = next(
        row
        for row in evaluation.summary()
        if (row["method"], row["epsilon"], row["metric"]) == ("mine", 1.0, "density_error")
    )
    values = [
        run.values()["density_error"]
        for run in evaluation.runs
        if run.method == "mine" and run.epsilon == 1
    ]
    assert row["mean"] == np.mean(values)
    assert row["standard_error"] == pytest.approx(np.std(values, ddof=1) / np.sqrt(2))


def test_it_says_everywhere_that_it_is_not_private(evaluation: Evaluation) -> None:
    assert "not private" in repr(evaluation)
    assert NOT_PRIVATE in evaluation._repr_html_()
    assert evaluation.plot()._supxlabel.get_text() == NOT_PRIVATE  # type: ignore[attr-defined]


def test_the_figure_shows_a_panel_per_metric_and_a_line_per_method(evaluation: Evaluation) -> None:
    figure = evaluation.plot(["density_error", "clustering_error"])
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert len(panels) == 2
    assert len(panels[0].get_legend_handles_labels()[1]) == 3
    assert figure._repr_png_()[:4] == b"\x89PNG"  # type: ignore[attr-defined]


def test_progress_counts_the_runs() -> None:
    seen: list[tuple[int, int]] = []
    pg.evaluate(
        STREAM,
        methods={"first": "tmf", "second": pg.TmF()},
        epsilons=["1"],
        window=1,
        repeats=1,
        progress=lambda *numbers: seen.append(numbers),
    )
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"methods": [7]}, InvalidArgument),
        ({"methods": ["nonsense"]}, InvalidArgument),
        ({"methods": ["nowhere.at_all:Mine"]}, InvalidArgument),
        ({"methods": ["psgraph:Roster"]}, InvalidArgument),
        ({"methods": ["tmf", pg.TmF]}, InvalidArgument),
        ({"methods": []}, InvalidArgument),
        ({"epsilons": [-1]}, BudgetError),
        ({"repeats": 0}, InvalidArgument),
        ({"window": 0}, BudgetError),
        ({"stream": []}, DataError),
        ({"stream": "edges.csv"}, InvalidArgument),
    ],
)
def test_wrong_arguments(options: dict[str, Any], error: type[Exception]) -> None:
    given = {"stream": STREAM, "methods": "tmf", "epsilons": "1", "window": 1, **options}
    with pytest.raises(error):
        pg.evaluate(**given)


def test_the_install_lines_when_pandas_or_matplotlib_is_missing(
    evaluation: Evaluation, monkeypatch: Any
) -> None:
    comparison = evaluation.runs[0].comparison
    monkeypatch.setitem(sys.modules, "pandas", None)
    for frame in (evaluation, comparison):
        with pytest.raises(MissingExtra, match=r"pip install .*\[pandas\]"):
            frame.to_pandas()  # type: ignore[attr-defined]
    monkeypatch.setattr("psgraph._runtime.extras.find_spec", lambda _: None)
    for figure in (evaluation, comparison):
        with pytest.raises(MissingExtra, match=r"pip install .*\[report\]"):
            figure.plot()  # type: ignore[attr-defined]


def test_unknown_metrics_are_refused_with_the_known_ones(evaluation: Evaluation) -> None:
    for shown in (evaluation, evaluation.runs[0].comparison):
        for metrics in (["beauty"], []):
            with pytest.raises(InvalidArgument):
                shown.plot(metrics)  # type: ignore[attr-defined]


def test_a_comparison_as_a_frame_and_as_a_figure(evaluation: Evaluation) -> None:
    comparison = evaluation.runs[0].comparison
    frame = comparison.to_pandas()
    assert frame["density_error"].tolist() == [
        row.fidelity.density_error for row in comparison.rows
    ]
    assert len([axes for axes in comparison.plot().axes if axes.get_visible()]) == 7
    assert "Curator only" in comparison._repr_html_()
