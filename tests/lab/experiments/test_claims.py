"""The checks of the paper's statements: every kind can hold, fail and be left open."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from psgraph.errors import OutputError
from psgraph_lab.experiments.cells import Cell, Outcome
from psgraph_lab.experiments.claims import (
    Statement,
    Verdict,
    check_claims,
    read_statements,
    write_claims_pages,
)
from psgraph_lab.experiments.claims.panel import (
    Finding,
    Series,
    compare,
    direction_of,
    rank_correlation,
)
from psgraph_lab.experiments.claims.statements import KINDS, PAPER_DATASETS, meets
from psgraph_lab.experiments.definition import Experiment, experiment_names, find_experiment

HAD = ("as-733", "as-caida")
NAMES = tuple(name for name in experiment_names() if name not in ("calibration", "claims"))


@dataclass(frozen=True)
class Place:
    """Where a fake value stands."""

    dataset: str
    label: str
    epsilon: float
    window: int
    threshold: float
    share: float
    time: int


Value = Callable[[str, Place], float]


def fake(experiment: Experiment, value: Value, *, noise: float = 0.01) -> dict[Cell, Outcome]:
    """Results of an experiment as if its cells had given `value`, with noise of a known size."""
    results = {}
    for point in experiment.points():
        dataset, line, epsilon, window, threshold, share = point
        for cell in experiment.at(*point):
            sway = 1 + noise * (cell.repetition - 1)
            over_time = [
                Place(
                    dataset,
                    line.label,
                    float(epsilon),
                    window,
                    float(threshold or 1),
                    float(share),
                    time,
                )
                for time in range(5)
            ]
            series = {
                metric: np.array([value(metric, place) for place in over_time]) * sway
                for metric in experiment.metrics
            }
            values = {metric: float(numbers[0]) for metric, numbers in series.items()}
            results[cell] = Outcome(
                cell,
                values,
                {metric: numbers.astype(np.float32) for metric, numbers in series.items()},
            )
    return results


def small(name: str, *, datasets: tuple[str, ...] = HAD) -> Experiment:
    """An experiment with three repetitions, the middle one without noise."""
    return find_experiment(name).narrowed(datasets=datasets, repetitions=3)


def statement(experiment: str, kind: str, demand: str = "every", **parameters: Any) -> Statement:
    """A statement to check."""
    ours = {
        name: parameters.pop(name)
        for name in tuple(parameters)
        if name
        in (
            "metrics",
            "datasets",
            "start",
            "stop",
            "epsilons",
            "pooled",
            "all_needed",
            "untestable",
        )
    }
    return Statement(
        id="x-1",
        section="X",
        text="X.",
        experiment=experiment,
        metrics=ours.pop("metrics", ("density_error",)),
        datasets=ours.pop("datasets", PAPER_DATASETS),
        check=KINDS[kind](**parameters),
        demand=demand,  # type: ignore[arg-type]
        **ours,
    )


def judged(about: Statement, value: Value, **options: Any) -> Verdict:
    """The verdict on a statement, given fake results of its experiment."""
    experiment = small(about.experiment, datasets=options.pop("datasets", HAD))
    results = fake(experiment, value, **options)
    (verdict,) = check_claims(results, results, {experiment.name: experiment}, statements=[about])
    return verdict


def by_label(**values: float) -> Value:
    """Values that depend on the method alone; 1 for those that are not named."""
    return lambda _, place: values.get(place.label.replace("-", "_"), 1.0)


KIND_CASES: dict[str, tuple[Statement, Value, Value]] = {
    "better": (
        statement("end-to-end", "better", methods=("PSGraph",)),
        by_label(PSGraph=0.5),
        by_label(PSGraph=0.5, TmF=0.4),
    ),
    "better than some": (
        statement("end-to-end", "better", methods=("PSGraph",), beats=3),
        by_label(PSGraph=0.5, TmF=0.3, DER=0.3),
        by_label(PSGraph=0.5, TmF=0.3, DER=0.3, LDPGen=0.3),
    ),
    "better, higher": (
        statement("end-to-end", "better", methods=("PSGraph",), metrics=("eigenvector_overlap",)),
        by_label(PSGraph=2.0),
        by_label(PSGraph=0.5),
    ),
    "others better": (
        statement("end-to-end", "better", methods="others", than=("TmF", "DER")),
        by_label(TmF=3.0, DER=2.0),
        by_label(TmF=3.0, DER=2.0, LDPGen=2.5),
    ),
    "better by a factor": (
        statement("judgement", "better", methods=("PSGraph",), factor=1.2),
        by_label(PSGraph=0.8),
        by_label(PSGraph=0.9),
    ),
    "bounds": (
        statement("end-to-end", "bounds", methods=("TmF", "DER"), lowest=0.8, highest=1.2),
        by_label(TmF=1.1, DER=0.9),
        by_label(TmF=1.1, DER=0.5),
    ),
    "close": (
        statement("judgement", "close", methods=("PSGraph",)),
        by_label(PSGraph=1.2),
        by_label(PSGraph=1.4),
    ),
    "alike": (
        statement(
            "judgement",
            "close",
            methods=("PSGraph", "PSGraph-R1"),
            than=("PSGraph", "PSGraph-R1"),
        ),
        by_label(PSGraph=1.2),
        by_label(PSGraph=0.7),
    ),
    "close-to-best": (
        statement("threshold", "close-to-best", methods=("PSGraph",), at=1.0),
        lambda _, place: 1 + 0.1 * abs(np.log10(place.threshold) - 1),
        lambda _, place: 1 + abs(np.log10(place.threshold) - 1),
    ),
    "advantage": (
        statement("judgement", "advantage", method="PSGraph", over="PSGraph-R1", larger="low"),
        lambda _, place: 1.0 if place.label == "PSGraph" else 1 + 1 / place.epsilon,
        lambda _, place: 1.0 if place.label == "PSGraph" else 1 + place.epsilon,
    ),
    "across, mean": (
        statement(
            "end-to-end",
            "across",
            method="DER",
            on=("as-733",),
            against=("as-caida", "reddit"),
            statistic="mean",
            wanted="larger",
        ),
        lambda _, place: 2.0 if place.dataset == "as-733" else 1.0,
        lambda _, place: 1.0 if place.dataset == "as-733" else 2.0,
    ),
    "across, range": (
        statement(
            "end-to-end",
            "across",
            method="DER",
            on=("as-733",),
            against=("as-caida",),
            statistic="range",
            wanted="larger",
        ),
        lambda _, place: place.epsilon * (2 if place.dataset == "as-733" else 1),
        lambda _, place: place.epsilon * (1 if place.dataset == "as-733" else 2),
    ),
    "across, lead": (
        statement(
            "judgement",
            "across",
            method="PSGraph",
            over="PSGraph-R1",
            on=("as-733",),
            against=("as-caida",),
            statistic="lead",
            wanted="smaller",
        ),
        lambda _, place: 2.0 if (place.dataset, place.label) == ("as-caida", "PSGraph") else 1.0,
        lambda _, place: 2.0 if (place.dataset, place.label) == ("as-733", "PSGraph") else 1.0,
    ),
    "trend": (
        statement("window", "trend", methods=("PSGraph",), direction="decreasing"),
        lambda _, place: 1 / place.window,
        lambda _, place: float(place.window),
    ),
    "trend over time": (
        statement("timestamps", "trend", methods=("PSGraph",), direction="increasing"),
        lambda _, place: 1.0 + place.time,
        lambda _, place: 9.0 - place.time,
    ),
    "together": (
        statement("end-to-end", "together", methods=("PSGraph", "TmF")),
        lambda _, place: place.epsilon * (2 if place.label == "TmF" else 1),
        lambda _, place: 1 / place.epsilon if place.label == "TmF" else place.epsilon,
    ),
    "growth": (
        statement("scalability", "growth", methods=("PSGraph",), metrics=("seconds",)),
        lambda _, place: 1 + place.share,
        lambda _, place: place.share**2,
    ),
    "no-single-best": (
        statement("threshold", "no-single-best", methods=("PSGraph",)),
        lambda _, place: place.threshold ** (1 if place.dataset == "as-733" else -1),
        lambda _, place: place.threshold,
    ),
    "mixed-trends": (
        statement("threshold", "mixed-trends", "some", methods=("PSGraph",), across="epsilon"),
        lambda _, place: place.threshold ** (1 if place.epsilon == 2.5 else -1),
        lambda _, place: place.threshold,
    ),
    "mixed-trends by metric": (
        statement(
            "threshold",
            "mixed-trends",
            "some",
            methods=("PSGraph",),
            across="metric",
            metrics=("eigenvector_overlap", "density_error"),
        ),
        lambda _, place: place.threshold,  # overlap gets better, error worse
        lambda metric, place: place.threshold ** (1 if metric == "density_error" else -1),
    ),
}


@pytest.mark.parametrize("case", KIND_CASES)
def test_every_kind_can_hold_and_fail(case: str) -> None:
    about, so, not_so = KIND_CASES[case]
    good, bad = judged(about, so), judged(about, not_so)
    assert (good.verdict, bad.verdict) == ("holds", "does not hold")
    assert good.numbers
    assert bad.numbers
    assert good.numbers != bad.numbers
    assert about.demand in good.reason


def test_every_kind_has_a_case() -> None:
    assert {type(about.check) for about, _, _ in KIND_CASES.values()} == set(KINDS.values())


def test_within_noise_methods_are_level() -> None:
    about = statement("judgement", "better", methods=("PSGraph",))
    almost = by_label(PSGraph=0.99)
    # Ten times the noise on the same means: what was better is level, and level is not better.
    assert judged(about, almost, noise=0.001).verdict == "holds"
    verdict = judged(about, almost, noise=0.1)
    assert verdict.verdict == "does not hold"
    assert "true in 0 %, opposite in 0 %" in verdict.reason
    assert "8 level" in verdict.numbers


def test_a_single_place_that_is_worse_breaks_every_and_not_most() -> None:
    def value(_: str, place: Place) -> float:
        return (
            2.0
            if (place.label, place.epsilon) == ("PSGraph", 0.5)
            else by_label(PSGraph=0.5)("", place)
        )

    verdicts = {
        demand: judged(statement("end-to-end", "better", demand, methods=("PSGraph",)), value)
        for demand in ("every", "nearly all", "most", "some", "not every")
    }
    assert {demand: verdict.verdict for demand, verdict in verdicts.items()} == {
        "every": "does not hold",
        "nearly all": "holds",
        "most": "holds",
        "some": "holds",
        "not every": "holds",
    }
    assert "true in 88 %, opposite in 12 %" in verdicts["every"].reason


def test_the_demand_is_made_of_each_metric_unless_they_are_pooled() -> None:
    metrics = ("density_error", "clustering_error", "assortativity_error")
    about = statement("end-to-end", "better", "most", methods=("PSGraph",), metrics=metrics)

    def value(metric: str, place: Place) -> float:
        good = metric != "clustering_error"
        return by_label(PSGraph=0.5 if good else 2.0)(metric, place)

    assert judged(about, value).verdict == "does not hold"
    assert judged(replace(about, pooled=True), value).verdict == "holds"


def test_data_sets_weigh_the_same_whatever_their_length() -> None:
    findings = [
        Finding("as-733", None, (1,) * 147, ""),
        Finding("as-caida", None, (-1,) * 25, ""),
    ]
    assert not meets("most", findings)


def test_only_the_named_part_of_the_axis_counts() -> None:
    about = statement("end-to-end", "better", methods=("PSGraph",), start=2.5)

    def value(_: str, place: Place) -> float:
        return 0.5 if (place.label == "PSGraph") == (place.epsilon >= 2.5) else 1.0

    assert judged(about, value).verdict == "holds"
    assert judged(replace(about, start=2.0), value).verdict == "does not hold"
    about = statement(
        "threshold", "trend", methods=("PSGraph",), direction="increasing", epsilons=("3.5",)
    )
    rising = judged(about, lambda _, place: place.threshold ** (1 if place.epsilon > 3 else -1))
    assert rising.verdict == "holds"
    assert "ε = 1.5" not in rising.numbers


def test_stand_ins_are_shown_and_do_not_decide() -> None:
    datasets = (*HAD, "hepph-partial", "wiki-talk")
    about = statement("end-to-end", "better", methods=("PSGraph",))

    def value(_: str, place: Place) -> float:
        return by_label(PSGraph=0.5 if place.dataset in HAD else 2.0)("", place)

    verdict = judged(about, value, datasets=datasets)
    assert verdict.verdict == "holds"
    assert "Wiki-talk" in verdict.stand_ins
    assert "8 worse" in verdict.stand_ins
    assert "Wiki-talk" not in verdict.numbers
    only = judged(replace(about, datasets=("cit-hepph",)), value, datasets=datasets)
    assert only.verdict == "not testable here"
    assert "Cit-HepPh" in only.reason
    assert not only.numbers
    assert "HepPh (partial)" in only.stand_ins
    assert "Wiki-talk" not in only.stand_ins


def test_the_real_data_sets_decide_once_they_are_there() -> None:
    about = statement("end-to-end", "better", methods=("PSGraph",), datasets=("cit-hepph",))
    assert judged(about, by_label(PSGraph=0.5), datasets=("cit-hepph",)).verdict == "holds"


def test_stand_ins_are_compared_with_the_methods_that_ran_on_them() -> None:
    experiment = small("end-to-end", datasets=(*HAD, "wiki-talk"))
    results = {
        cell: outcome
        for cell, outcome in fake(experiment, by_label(PSGraph=0.5)).items()
        if not (cell.dataset == "wiki-talk" and cell.method in ("privhrg", "der"))
    }
    about = statement("end-to-end", "better", methods=("PSGraph",), beats=3)
    (verdict,) = check_claims(results, {}, {experiment.name: experiment}, statements=[about])
    assert "TmF" in verdict.stand_ins
    assert "PrivHRG" not in verdict.stand_ins
    assert "(" not in verdict.stand_ins  # three of five can't be counted among three


def test_what_was_not_run_is_not_testable_and_says_so() -> None:
    experiment = small("end-to-end")
    everything = fake(experiment, by_label(PSGraph=0.5))
    about = statement("end-to-end", "better", methods=("PSGraph",))
    named = {experiment.name: experiment}

    def without(*names: str, dataset: str = "") -> Verdict:
        kept = {
            cell: outcome
            for cell, outcome in everything.items()
            if not (cell.method in names and dataset in ("", cell.dataset))
        }
        return check_claims(kept, {}, named, statements=[about])[0]

    none = without("privhrg")
    assert none.verdict == "not testable here"
    assert none.reason == "not run: PrivHRG on As-733 and PrivHRG on As-caida"
    some = without("privhrg", dataset="as-caida")
    assert some.verdict == "holds"
    assert "not run: PrivHRG on As-caida" in some.reason
    empty = check_claims({}, {}, named, statements=[about])[0]
    assert (empty.verdict, empty.reason) == ("not testable here", "not run: end-to-end")
    assert check_claims({}, {}, {}, statements=[about])[0].verdict == "not testable here"
    (alone,) = check_claims(
        everything, {}, named, statements=[replace(about, datasets=("as-733", "reddit"))]
    )
    assert alone.verdict == "holds"
    assert "As-caida" not in alone.numbers


def test_how_data_sets_differ_is_not_refuted_by_some_of_them() -> None:
    about = statement("window", "mixed-trends", "some", methods=("PSGraph",), across="dataset")
    alike: Value = lambda _, place: float(place.window)  # noqa: E731
    assert judged(about, alike).verdict == "does not hold"
    verdict = judged(replace(about, all_needed=True), alike)
    assert verdict.verdict == "not testable here"
    assert "Cit-HepPh and Reddit may differ" in verdict.reason


def test_costs_and_quality_are_read_from_their_own_results() -> None:
    experiment = small("cost")
    results = fake(experiment, by_label(TmF=0.5))
    about = statement("cost", "better", methods=("TmF",), metrics=("seconds",))
    named = {"cost": experiment}
    assert check_claims({}, results, named, statements=[about])[0].verdict == "holds"
    assert check_claims(results, {}, named, statements=[about])[0].reason == "not run: cost"


values = st.floats(0.01, 100)


@given(
    means=st.lists(st.tuples(values, values), min_size=1, max_size=6),
    errors=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    scale=st.sampled_from([0.25, 0.5, 2.0, 4.0]),
    metric=st.sampled_from(["density_error", "eigenvector_overlap"]),
)
def test_comparing_is_antisymmetric_and_does_not_depend_on_the_unit(
    means: list[tuple[float, float]],
    errors: tuple[float, float],
    scale: float,
    metric: str,
) -> None:
    x = np.arange(float(len(means)))
    one, other = (
        Series("demo", "", metric, None, x, np.array(mean), np.full(x.size, error))
        for mean, error in zip(zip(*means, strict=True), errors, strict=True)
    )
    there = compare(one, other)
    assert (there == -compare(other, one)).all()
    larger = [
        replace(line, mean=scale * line.mean, error=scale * line.error) for line in (one, other)
    ]
    assert (compare(*larger) == there).all()
    assert not (compare(one, other, factor=1.5) > there).any()


@given(st.lists(values, min_size=2, max_size=8, unique=True), st.randoms())
def test_rank_correlation_is_spearmans(numbers: list[float], random: Any) -> None:
    shuffled = list(numbers)
    random.shuffle(shuffled)
    ours = rank_correlation(np.array(numbers), np.array(shuffled))
    assert ours == pytest.approx(stats.spearmanr(numbers, shuffled).statistic)


def test_a_flat_or_noisy_line_has_no_direction() -> None:
    x = np.arange(5.0)
    flat = Series("demo", "", "density_error", None, x, np.ones(5), np.zeros(5))
    assert direction_of(flat) == 0
    rising = replace(flat, mean=x)
    assert direction_of(rising) == 1
    assert direction_of(replace(rising, mean=-x)) == -1
    assert direction_of(replace(rising, error=np.full(5, 3.0))) == 0
    assert direction_of(replace(flat, mean=np.array([0.0, 9, 8, 7, 1]))) == 0


@given(
    st.lists(st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=6), min_size=1, max_size=3),
    st.sampled_from(["every", "nearly all", "most", "some"]),
)
def test_better_findings_never_break_a_demand(outcomes: list[list[int]], demand: Any) -> None:
    def found(rows: list[list[int]]) -> list[Finding]:
        return [Finding(name, None, tuple(row), "") for name, row in zip("abc", rows, strict=False)]

    raised = [[min(1, outcome + 1) for outcome in row] for row in outcomes]
    assert meets(demand, found(raised)) >= meets(demand, found(outcomes))


# --- The paper's statements ----------------------------------------------------------------------


def test_statements_are_unique_and_grouped() -> None:
    statements = read_statements()
    assert len(statements) > 100
    assert max(Counter(each.id for each in statements).values()) == 1
    sections = [each.section for each in statements]
    changes = sum(one != other for one, other in itertools.pairwise(sections))
    assert changes + 1 == len(set(sections))
    assert {type(each.check) for each in statements if each.check} == set(KINDS.values())


@pytest.mark.parametrize("about", read_statements(), ids=lambda about: about.id)
def test_statements_speak_of_what_there_is(about: Statement) -> None:
    experiment = find_experiment(about.experiment)
    assert about.text.endswith(".")
    assert about.metrics
    assert set(about.metrics) <= set(experiment.metrics)
    assert about.datasets
    assert set(about.datasets) <= set(PAPER_DATASETS)
    assert set(about.epsilons) <= set(experiment.epsilons)
    assert (about.check is None) == bool(about.untestable)
    if about.check is None:
        return
    labels = {line.label for line in experiment.lines}
    parameters = {
        field.name: getattr(about.check, field.name)
        for field in fields(about.check)  # type: ignore[arg-type]
    }
    named = [parameters.get(name) for name in ("methods", "than", "method", "over")]
    lines = [
        label
        for each in named
        if each and each != "others"
        for label in ((each,) if isinstance(each, str) else each)
    ]
    assert lines
    assert set(lines) <= labels
    assert set(parameters.get("on", ())) | set(parameters.get("against", ())) <= set(about.datasets)


def everything(*, quick: bool) -> tuple[dict[str, Experiment], dict[Cell, Outcome]]:
    """All experiments on the data sets that can be had, with made-up results."""
    experiments = {
        name: find_experiment(name, quick=quick).narrowed(datasets=HAD, repetitions=2)
        for name in NAMES
    }
    results: dict[Cell, Outcome] = {}
    rng = np.random.default_rng(0)
    for experiment in experiments.values():
        for cell, outcome in fake(experiment, lambda *_: float(rng.uniform(0.5, 1.5))).items():
            known = results.get(cell)
            results[cell] = (known and _joined(known, outcome)) or outcome
    return experiments, results


def _joined(one: Outcome, other: Outcome) -> Outcome:
    return Outcome(one.cell, {**one.values, **other.values}, {**one.series, **other.series})


@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
def test_all_is_decided_that_two_data_sets_can_decide(quick: bool) -> None:
    experiments, results = everything(quick=quick)
    verdicts = check_claims(results, results, experiments)
    assert [verdict.statement for verdict in verdicts] == list(read_statements())
    assert not [verdict.reason for verdict in verdicts if "not run" in verdict.reason]
    open_ones = [verdict for verdict in verdicts if verdict.verdict == "not testable here"]
    assert all(
        "Cit-HepPh" in verdict.reason or "Reddit" in verdict.reason or verdict.statement.untestable
        for verdict in open_ones
    )
    assert {verdict.shortened for verdict in verdicts if not verdict.statement.untestable} == {
        quick
    }


# --- Pages ---------------------------------------------------------------------------------------


def written(verdicts: list[Verdict], out: Path, notes: Mapping[str, str]) -> tuple[str, str]:
    pages = write_claims_pages(
        verdicts,
        out,
        notes=notes,
        command="psgraph experiment run claims",
        facts={"machine": "m"},
        html=True,
    )
    assert [page.name for page in pages] == ["claims.md", "claims.html"]
    for name in ("claims.png", "claims.svg"):
        assert (out / name).stat().st_size > 1000
    markdown, html = (page.read_text(encoding="utf-8") for page in pages)
    return markdown, html


def test_pages_hold_every_statement_and_the_counts_add_up(tmp_path: Path) -> None:
    experiments, results = everything(quick=False)
    verdicts = check_claims(results, results, experiments)
    failing = [each.statement.id for each in verdicts if each.verdict == "does not hold"]
    note = "Because *this* differs <here>.\n\n- one point"
    markdown, html = written(verdicts, tmp_path / "new", {failing[0]: note})
    for verdict in verdicts:
        assert f"| {verdict.statement.id} |" in markdown
        assert f">{verdict.statement.id}</th>" in html
    assert "Because *this* differs <here>." in markdown
    assert "Because this differs &lt;here&gt;." in html
    assert "<li>one point</li>" in html
    for page in (markdown, html):
        assert page.count("No explanation yet.") == len(failing) - 1
        assert "psgraph experiment run claims" in page
        assert "Quick results" not in page
    rows = [line.split("|")[1:-1] for line in markdown.splitlines() if line.startswith("|")]
    counts = [row for row in rows if len(row) == 5 and row[1].strip().isdigit()]
    numbers = np.array([[int(cell) for cell in row[1:]] for row in counts])
    assert (numbers[:, :3].sum(axis=1) == numbers[:, 3]).all()
    assert (numbers[:-1].sum(axis=0) == numbers[-1]).all()
    assert numbers[-1, 1] == len(failing)
    assert numbers[-1, 3] == len(verdicts)


def test_pages_of_quick_results_say_so(tmp_path: Path) -> None:
    experiments, results = everything(quick=True)
    for page in written(check_claims(results, results, experiments), tmp_path, {}):
        assert "Quick results" in page


def test_pages_that_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(OutputError):
        written(check_claims({}, {}), blocked / "below", {})


def test_the_other_reading_of_a_metric_is_shown_and_decides_nothing() -> None:
    """PSGraph leads in transitivity and trails in average clustering."""

    def value(metric: str, place: Place) -> float:
        leads = (place.label == "PSGraph") != (metric == "average_clustering_error")
        return 0.1 if leads else 0.9

    experiment = small("end-to-end")
    wanted = statement("end-to-end", "better", methods=("PSGraph",), metrics=("clustering_error",))
    both = replace(experiment, metrics=(*experiment.metrics, "average_clustering_error"))
    (verdict,) = check_claims(
        fake(both, value), {}, {"end-to-end": experiment}, statements=[wanted]
    )
    assert (verdict.verdict, verdict.otherwise) == ("holds", "does not hold")
    (without,) = check_claims(
        fake(experiment, value), {}, {"end-to-end": experiment}, statements=[wanted]
    )
    assert (without.verdict, without.otherwise) == ("holds", None)
