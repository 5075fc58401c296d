"""Reading a rehearsal: questions in words, verdicts, and which choice suffices.

The verdicts are those of the quality report, so that what a rehearsal calls close is what
`psgraph compare` will call close.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psgraph._runtime.numbers import NO_VALUE, brief, count, exact_decimal, joined, significant
from psgraph.metrics.groups import METRICS, PAPER_METRICS
from psgraph.metrics.metric import VERDICTS, Metric

if TYPE_CHECKING:
    from psgraph.trust.rehearsal import Cell, Rehearsal
    from psgraph.trust.rehearsal.template import Shape

__all__ = [
    "CAUTION",
    "LEGEND",
    "MARKS",
    "NOTHING_PRIVATE",
    "QUESTIONS",
    "Question",
    "all_metrics_table",
    "cautious_verdict",
    "described",
    "explanations",
    "questions_of",
    "recommendations",
    "rehearsal_dict",
    "rehearsal_table",
    "resemblance",
    "smallest_epsilons",
    "verdict",
]

_CLOSE, _FAIR, _POOR = VERDICTS

#: What stands before a number, by verdict.
MARKS: dict[str, str] = {_CLOSE: "●", _FAIR: "◐", _POOR: "○"}
NOTHING_PRIVATE = (
    "No private data was read: the numbers come from a public stream, resized to the given size. "
    "They need no protection, and you may choose ε and w by them."
)
CAUTION = "one standard deviation worse than the mean"
LEGEND = "  ".join(f"{mark} {word}" for word, mark in MARKS.items())


_STRETCHED = 3  # factor of the mean degree above which a stream hardly resembles its template


@dataclass(frozen=True)
class Question:
    """A question of an analyst, and the metric that says how well a release answers it."""

    name: str
    words: str
    metric: Metric


QUESTIONS = (
    Question("edges", "How many edges are there?", METRICS["density_error"]),
    Question("degrees", "How are degrees distributed?", METRICS["degree_divergence_smoothed"]),
    Question("hubs", "Who are the hubs?", METRICS["eigenvector_overlap"]),
    Question("triangles", "How clustered is it?", METRICS["clustering_error"]),
    Question("communities", "Which communities are there?", METRICS["community_modularity_error"]),
    Question("change", "How much stays over time?", METRICS["snapshot_overlap_error"]),
)
LABELS = Question("labels", "Do edges stay inside labels?", METRICS["label_modularity_error"])


def questions_of(rehearsal: Rehearsal) -> tuple[Question, ...]:
    """The questions of a rehearsal: that about public labels only if it has some."""
    return (*QUESTIONS, LABELS) if rehearsal.labels else QUESTIONS


def verdict(cell: Cell, question: Question) -> str | None:
    """Return close, some error or poor; None where the metric has no value."""
    value = cell.mean(question.metric.name)
    return None if value is None else question.metric.limits.verdict(value)


def cautious_verdict(cell: Cell, question: Question) -> str | None:
    """Return the verdict on a value that is one standard deviation worse than the mean."""
    name = question.metric.name
    value, spread = cell.mean(name), cell.spread(name) or 0.0
    if value is None:
        return None
    worse = value - spread if question.metric.better == "higher" else value + spread
    return question.metric.limits.verdict(worse)


def described(shape: Shape) -> str:
    """A stream in one line."""
    return (
        f"{count(shape.nodes, 'node')}, {count(round(shape.edges), 'edge')} per snapshot (mean "
        f"degree {significant(shape.mean_degree)}), {count(shape.timestamps, 'timestamp')}, "
        f"transitivity {significant(shape.transitivity)}, {100 * shape.kept:.0f} % of the edges "
        f"stay, {100 * shape.top_degrees:.0f} % of edge ends at the top 1 % of nodes"
    )


def resemblance(rehearsal: Rehearsal) -> str | None:
    """A warning if the stream had to be changed so much that it says little; None otherwise."""
    template, shape = rehearsal.template, rehearsal.shape
    stretched = shape.mean_degree / template.mean_degree
    if 1 / _STRETCHED <= stretched <= _STRETCHED:
        return None
    return (
        f"The public stream has a mean degree of {significant(template.mean_degree)}, and "
        f"you requested {significant(shape.mean_degree)}: the result resembles neither closely. "
        "Try a public stream with a mean degree closer to yours."
    )


def rehearsal_table(rehearsal: Rehearsal) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Column headings and rows: one per method, w and ε, with a verdict for each question."""
    asked = questions_of(rehearsal)
    columns = ("method", "w", "ε", *(question.name for question in asked))
    rows = [
        (*_choice(cell), *(_marked(cell, question) for question in asked))
        for cell in rehearsal.cells
    ]
    return columns, rows


def all_metrics_table(rehearsal: Rehearsal) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The same rows with the paper's five metrics in their own units."""
    columns = ("method", "w", "ε", *(f"{each.heading} {each.arrow}" for each in PAPER_METRICS))
    rows = [
        (*_choice(cell), *(_exact(cell, each) for each in PAPER_METRICS))
        for cell in rehearsal.cells
    ]
    return columns, rows


def explanations(rehearsal: Rehearsal) -> list[tuple[str, str]]:
    """The name of each question, and what its number means with the thresholds of verdicts."""
    return [
        (question.name, f"{question.words} {_thresholds(question.metric)}")
        for question in questions_of(rehearsal)
    ]


def smallest_epsilons(
    rehearsal: Rehearsal,
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Column headings and rows: the smallest ε at which each question is close, for every w."""
    columns = ("close from ε =", *(f"w = {window}" for window in rehearsal.windows))
    rows = [
        (
            question.words,
            *(_smallest(rehearsal.of(window), question) for window in rehearsal.windows),
        )
        for question in questions_of(rehearsal)
    ]
    return columns, rows


def recommendations(rehearsal: Rehearsal) -> list[str]:
    """For every w, the smallest ε at which no answerable question is poor.

    Only methods that keep the promise are recommended, and verdicts are cautious.
    """
    asked = questions_of(rehearsal)
    return [_recommended(window, rehearsal.of(window), asked) for window in rehearsal.windows]


def rehearsal_dict(rehearsal: Rehearsal) -> dict[str, Any]:
    """The rehearsal for machines, with verdicts and recommendations."""
    content, asked = rehearsal.to_dict(), questions_of(rehearsal)
    for entry, cell in zip(content["cells"], rehearsal.cells, strict=True):
        entry["verdicts"] = {each.name: verdict(cell, each) for each in asked}
    content["questions"] = {
        each.name: {"question": each.words, "metric": each.metric.name} for each in asked
    }
    content["recommendations"] = recommendations(rehearsal)
    content["warning"] = resemblance(rehearsal)
    return content


def _recommended(window: int, cells: Sequence[Cell], asked: Sequence[Question]) -> str:
    private = [cell for cell in cells if cell.promise.kept]
    if not private:
        return f"w = {window}: no method that keeps the promise was rehearsed."
    judged = [each for each in asked if any(cautious_verdict(cell, each) for cell in private)]
    hopeless = [
        each for each in judged if all(cautious_verdict(cell, each) == _POOR for cell in private)
    ]
    answerable = [each for each in judged if each not in hopeless]

    def rank(cell: Cell) -> tuple[int, float, int]:
        words = [cautious_verdict(cell, each) for each in answerable]
        return words.count(_POOR), float(cell.guarantee.epsilon), -words.count(_CLOSE)

    best = min(private, key=rank)
    words = {each.name: cautious_verdict(best, each) for each in answerable}
    poor = [name for name, word in words.items() if word == _POOR]
    close = [name for name, word in words.items() if word == _CLOSE]
    found = (
        f"w = {window}: {best.method} with ε = {exact_decimal(best.guarantee.epsilon)}: "
        f"{joined(close) if close else 'nothing'} close"
    )
    fair = [name for name, word in words.items() if word == _FAIR]
    if fair:
        found += f", {joined(fair)} with some error"
    if poor:
        found += f", {joined(poor)} poor"
    if hopeless:
        found += f". Poor at every ε tried: {joined([each.name for each in hopeless])}"
    return f"{found}."


def _smallest(cells: Sequence[Cell], question: Question) -> str:
    """The smallest ε at and above which a private method is close, or what it reaches instead."""
    for wanted, enough in ((_CLOSE, (_CLOSE,)), (_FAIR, (_CLOSE, _FAIR))):
        reached = [cell for cell in _lasting(cells, question, enough) if cell.promise.kept]
        if reached:
            first = min(reached, key=lambda cell: cell.guarantee.epsilon)
            found = f"{brief(first.guarantee.epsilon)} ({first.method})"
            return found if wanted == _CLOSE else f"never; {_FAIR} from {found}"
    return "never; poor throughout"


def _lasting(cells: Sequence[Cell], question: Question, enough: Sequence[str]) -> list[Cell]:
    """The cells that are good enough, as are those of the same method with a larger ε."""
    spoilt: set[str] = set()
    found = []
    for cell in reversed(cells):  # from the largest ε downwards
        if cautious_verdict(cell, question) not in enough:
            spoilt.add(cell.method)
        elif cell.method not in spoilt:
            found.append(cell)
    return found[::-1]


def _choice(cell: Cell) -> tuple[str, str, str]:
    name = cell.method if cell.promise.kept else f"{cell.method} †"
    return name, str(cell.guarantee.window), brief(cell.guarantee.epsilon)


def _marked(cell: Cell, question: Question) -> str:
    """A verdict's mark, the mean and its spread, in few characters."""
    word = verdict(cell, question)
    mean, spread = cell.mean(question.metric.name), cell.spread(question.metric.name)
    if word is None or mean is None:
        return NO_VALUE
    shown = f"{MARKS[word]} {_short(question.metric, mean)}"
    if spread is None:
        return shown
    around = _short(question.metric, spread)
    return f"{shown}±{around if question.metric.is_share else around.removeprefix('0')}"


def _short(metric: Metric, value: float) -> str:
    scaled = metric.scaled(value)
    return f"{scaled:.0f}" if metric.is_share else f"{scaled:.2f}"


def _exact(cell: Cell, metric: Metric) -> str:
    mean, spread = cell.mean(metric.name), cell.spread(metric.name)
    return metric.number(mean) + ("" if spread is None else f" ± {metric.number(spread)}")


def _thresholds(metric: Metric) -> str:
    limits = metric.limits
    close, fair = (f"{metric.scaled(each):g}" for each in (limits.close, limits.fair))
    if metric.better == "higher":
        return f"{_name(metric)}: close from {close}, poor below {fair}"
    return f"{_name(metric)}: close up to {close}, poor above {fair}"


def _name(metric: Metric) -> str:
    return metric.heading[0].upper() + metric.heading[1:]
