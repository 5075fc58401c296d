"""Which questions releases can answer: a verdict for each, from predicted errors and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import Literal

from psgraph._runtime.numbers import count
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.graph.sides import side_names, side_words
from psgraph.metrics.metric import Limits
from psgraph.trust.intervals import Estimate
from psgraph.trust.jumps import shown_timestamps
from psgraph.trust.prediction import UNPREDICTABLE, Prediction, Range
from psgraph.trust.quantities import DEGREE_CLASSES

__all__ = ["Answer", "Verdict", "judge"]

#: Whether releases answer a question. ``unclear``: the interval is too wide to say.
Answer = Literal["yes", "roughly", "unclear", "no", "unknown", "never"]

_EDGES = Limits(0.1, 0.5)
_HUBS = Limits(0.8, 0.5)


@dataclass(frozen=True)
class Verdict:
    """A question of an analyst, whether releases answer it, and why."""

    question: str
    answer: Answer
    reason: str

    def to_dict(self) -> dict[str, str]:
        return {"question": self.question, "answer": self.answer, "reason": self.reason}


def judge(
    errors: Mapping[str, Prediction],
    statistics: Mapping[str, Estimate],
    *,
    kind: Kind = UNDIRECTED,
    noisy_degree: float | None = None,
    predicted: Sequence[int] | None = None,
) -> tuple[Verdict, ...]:
    """Return a verdict for every question.

    Predictions that are not calibrated are too optimistic: they can show that a question is not
    answered, but not that it is. Where most timestamps are too close to a jump to be predicted,
    the others say nothing about the releases as a whole.

    Parameters
    ----------
    kind
        Of the releases; it decides which questions there are.
    noisy_degree
        The degree to which noise alone may lift a node, if that is known.
    predicted
        The timestamps that are predicted; None for all.
    """
    calibrated = all(each.status != "not calibrated" for each in errors.values())
    found = (
        _edge_count(statistics["edges"]),
        _growth(statistics["edge_growth"]),
        *(_of_nodes(errors, noisy_degree) if kind.sides == 1 else _of_sides(errors, kind)),
        *(_of_weights(errors) if kind.weighted else ()),
        _by_metric(
            "How quickly do relations change?",
            errors["snapshot_overlap_error"],
            "The error of the share of edges that persist",
        ),
        Verdict(
            "Which single edges exist?",
            "never",
            "The noise hides exactly that, at any ε and with any method. An edge of a release "
            "says nothing certain about an edge of the original.",
        ),
    )
    timestamps = len(statistics["edges"].ranges)
    if predicted is not None and len(predicted) < timestamps:
        found = tuple(_near_jumps(each, predicted, timestamps) for each in found)
    return found if calibrated else tuple(_doubted(each) for each in found)


def _near_jumps(verdict: Verdict, predicted: Sequence[int], timestamps: int) -> Verdict:
    """Limit a verdict to the timestamps away from jumps, or withdraw it if they are too few."""
    if verdict.answer in ("unknown", "never"):
        return verdict
    if 2 * len(predicted) < timestamps:
        return replace(
            verdict,
            answer="unknown",
            reason="The released edge count jumps: predictions are made for only "
            f"{len(predicted)} of {count(timestamps, 'timestamp')}.",
        )
    return replace(verdict, reason=f"{verdict.reason} Holds for {shown_timestamps(predicted)}.")


def _doubted(verdict: Verdict) -> Verdict:
    if verdict.answer not in ("yes", "roughly"):
        return verdict
    return replace(
        verdict, answer="unclear", reason=f"{verdict.reason} This prediction is not calibrated."
    )


def _of_nodes(errors: Mapping[str, Prediction], noisy_degree: float | None) -> tuple[Verdict, ...]:
    """Questions about graphs whose edges have two ends of the same kind."""
    return (
        _hubs(errors["hubs_found"], noisy_degree),
        _degrees_of_nodes(errors),
        _by_metric(
            "What does the degree distribution look like?",
            errors["degree_divergence_smoothed"],
            "The smoothed degree divergence",
        ),
        _communities(errors["modularity_error"], errors["adjusted_rand_index"]),
        _by_metric(
            "How often are neighbours of a node neighbours themselves?",
            errors["clustering_error"],
            "The clustering error",
        ),
        _by_metric(
            "How many steps apart are nodes?",
            errors["effective_diameter_error"],
            "The error of the effective diameter",
        ),
    )


def _of_sides(errors: Mapping[str, Prediction], kind: Kind) -> tuple[Verdict, ...]:
    """Questions about directed and two-sided graphs."""
    found = []
    for side in side_names(kind):
        words = side_words(side, "degrees")
        found += [
            _by_metric(
                f"Which nodes have the highest {words}?",
                errors[f"top_{side}_overlap"],
                "The overlap with the true ones",
            ),
            _by_metric(
                f"How are the {words} distributed?",
                errors[f"{side}_degree_divergence_smoothed"],
                "The smoothed divergence",
            ),
        ]
    if kind.directed:
        found += [
            _by_metric(
                "How often is an edge answered by one in the other direction?",
                errors["reciprocity_error"],
                "The error of that share",
            ),
            _by_metric(
                "Do the nodes that send also receive?",
                errors["joint_degree_divergence"],
                "The divergence of out- and in-degrees together",
            ),
            _by_metric(
                "How often are neighbours of a node neighbours themselves?",
                errors["skeleton_clustering_error"],
                "The error of the clustering without directions",
            ),
        ]
    return tuple(found)


def _of_weights(errors: Mapping[str, Prediction]) -> tuple[Verdict, ...]:
    return (
        _by_metric(
            "How are the weights distributed?",
            errors["weight_distance"],
            "The distance of the distributions",
        ),
        _by_metric(
            "What is the sum of all weights?", errors["total_weight_error"], "Its relative error"
        ),
    )


def _answer(worse: float, better: float, limits: Limits) -> Answer:
    """Compare the two ends of an interval with thresholds that ascend if lower is better."""
    sign = 1 if limits.close < limits.fair else -1
    if sign * worse <= sign * limits.close:
        return "yes"
    if sign * worse <= sign * limits.fair:
        return "roughly"
    return "unclear" if sign * better <= sign * limits.fair else "no"


def _by_metric(question: str, prediction: Prediction, subject: str) -> Verdict:
    if prediction.overall is None:
        return _unknown(question, prediction)
    answer = _answer(*_ends(prediction, prediction.overall), prediction.metric.limits)
    return Verdict(question, answer, f"{subject} is predicted at {prediction.shown()}.")


def _ends(prediction: Prediction, found: Range) -> tuple[float, float]:
    """The worse end of an interval, then the better one."""
    higher = prediction.metric.better == "higher"
    return (found.low, found.high) if higher else (found.high, found.low)


def _unknown(question: str, prediction: Prediction) -> Verdict:
    words = prediction.words.capitalize()
    if prediction.status == "unpredictable":
        return Verdict(question, "unknown", f"{words}: {UNPREDICTABLE}.")
    return Verdict(question, "unknown", f"{words} has no value in these releases.")


def _edge_count(estimate: Estimate) -> Verdict:
    question = "How many edges are there?"
    found = [each for each in estimate.ranges if each is not None and each.value]
    if not found:
        return Verdict(question, "unknown", f"The {estimate.words}: {UNPREDICTABLE}.")
    margin = _median([(each.high - each.low) / 2 / each.value for each in found])
    return Verdict(
        question,
        _answer(margin, margin, _EDGES),
        f"The true number lies within about {100 * margin:.2g} % of the estimate "
        f"({estimate.source}).",
    )


def _growth(estimate: Estimate) -> Verdict:
    question = "Is it denser than at the previous timestamp?"
    found = [each for each in estimate.ranges if each is not None]
    if not found:
        reason = (
            f"The {estimate.words}: {UNPREDICTABLE}."
            if estimate.status == "unpredictable"
            else "There is only one release."
        )
        return Verdict(question, "unknown", reason)
    clear = sum(1 for each in found if each.low > 0 or each.high < 0)
    margin = exp(_median([(each.high - each.low) / 2 for each in found])) - 1
    return Verdict(
        question,
        "yes" if clear == len(found) else "roughly" if clear else "no",
        f"Changes of more than about {100 * margin:.2g} % stand out from the noise; "
        f"{clear:,} of {count(len(found), 'step')} are that large.",
    )


def _hubs(prediction: Prediction, noisy_degree: float | None) -> Verdict:
    question = "Who are the hubs?"
    beyond = (
        ""
        if noisy_degree is None
        else " With 95 % probability, noise alone lifts no node of average degree above degree "
        f"{noisy_degree:,.0f} in one measurement (from the noise scale)."
    )
    found = prediction.overall
    if found is None:
        unknown = _unknown(question, prediction)
        return replace(unknown, reason=unknown.reason + beyond)
    low, high, about = (10 * each for each in (found.low, found.high, found.value))
    return Verdict(
        question,
        _answer(found.low, found.high, _HUBS),
        f"Of the ten nodes with the highest published degrees, {low:.0f} to {high:.0f} are among "
        f"the true ten, probably {about:.0f}.{beyond}",
    )


def _degrees_of_nodes(errors: Mapping[str, Prediction]) -> Verdict:
    question = "What is the degree of a given node?"
    said, answers = [], []
    for low, high in DEGREE_CLASSES:
        prediction = errors[f"degree_error_from_{low}"]
        found = prediction.overall
        if found is None:
            continue
        answers.append(_answer(*_ends(prediction, found), prediction.metric.limits))
        size = f"{low} or more" if high is None else f"{low} to {high}"
        said.append(f"degree {size}: {100 * found.value:.0f} %")
    if not said:
        return Verdict(question, "unknown", f"The degrees of nodes: {UNPREDICTABLE}.")
    best = min(answers, key=("yes", "roughly", "unclear", "no").index)
    answer: Answer = best if len({*answers}) == 1 or best in ("unclear", "no") else "roughly"
    return Verdict(question, answer, f"Mean error of a published degree: {'; '.join(said)}.")


def _communities(clear: Prediction, same: Prediction) -> Verdict:
    question = "Are there communities, and who is in them?"
    found = same.overall
    if found is None:
        return _unknown(question, same)
    answer = _answer(found.low, found.high, same.metric.limits)
    also = (
        f" How clearly the graph splits (modularity error): {clear.shown()}."
        if clear.overall is not None
        else ""
    )
    return Verdict(
        question,
        answer,
        f"The communities of releases agree with the true ones to {same.shown()} (adjusted Rand "
        f"index; 0 is chance).{also}",
    )


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]
