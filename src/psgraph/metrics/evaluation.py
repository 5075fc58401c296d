"""Try methods on one's own stream: every method, budget and repetition, compared with the truth.

**Not private, for research.** The runs are seeded and their results contain facts about the
private edges without noise. Choosing a method or ε by them on the data that are published later
is not covered by the guarantee; use other data of the same kind, or earlier data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from psgraph.errors import DataError, InvalidArgument, exact_decimal
from psgraph.methods import DEFAULT_METHOD
from psgraph.methods.base import Method
from psgraph.methods.choosing import MethodLike, choose_method
from psgraph.metrics.report import compare
from psgraph.metrics.runs import Evaluation, Run
from psgraph.privacy.guarantee import EpsilonLike, WEventPrivacy, exact_epsilon
from psgraph.publication.checks import check_stream
from psgraph.publication.publisher import Publisher

if TYPE_CHECKING:
    from psgraph.graph import Snapshot

__all__ = ["evaluate"]


def evaluate(
    stream: Iterable[Snapshot],
    *,
    methods: Iterable[MethodLike] | Mapping[str, MethodLike] | MethodLike = DEFAULT_METHOD,
    epsilons: Iterable[EpsilonLike] = ("0.5", "1", "2"),
    window: int,
    repeats: int = 3,
    groups: Sequence[str] = (),
    seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> Evaluation:
    """Run methods on a stream and compare their releases with it. Not private: for research.

    Parameters
    ----------
    stream
        The snapshots, in order. All are kept in memory while the methods run.
    methods
        Method objects, classes, names, or ``"module:Class"``; one or several. A mapping gives
        them labels.
    epsilons, window
        The budgets of a window, and its length.
    repeats
        Runs of each method with each budget; their seeds differ.
    groups
        Optional metrics to compute as well, as in `psgraph.compare`.
    seed
        The same seed gives the same numbers.
    progress
        Called after every run with the number of runs done and their total.

    Examples
    --------
    >>> from psgraph.streams.demo import demo_stream
    >>> stream = demo_stream(nodes=300, timestamps=2)
    >>> found = evaluate(stream, methods=["tmf"], epsilons=["1"], window=2, repeats=2)
    >>> found, len(found.records())
    (Evaluation(1 method, 1 budget, 2 runs; not private), 28)
    """
    chosen = _labelled(methods)
    budgets = [exact_epsilon(epsilon) for epsilon in _several(epsilons)]
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise InvalidArgument(f"repeats must be an integer of at least 1, not {repeats!r}")
    if not budgets or not chosen:
        raise InvalidArgument("there is nothing to run\nGive at least one method and one epsilon.")
    guarantees = {epsilon: WEventPrivacy(epsilon, window) for epsilon in budgets}
    check_stream(stream)
    snapshots = list(stream)
    if not snapshots:
        raise DataError("the stream has no snapshots, so there is nothing to evaluate")
    points = list(product(chosen.items(), guarantees.items(), range(repeats)))
    runs = []
    for done, ((label, method), (epsilon, guarantee), repeat) in enumerate(points, 1):
        derived = _seed(seed, label, exact_decimal(epsilon), guarantee.window, repeat)
        with Publisher(method, guarantee, seed=derived) as publisher:
            comparison = compare(snapshots, publisher.publish_all(snapshots), groups=groups)
        runs.append(Run(label, epsilon, repeat, derived, comparison))
        if progress is not None:
            progress(done, len(points))
    return Evaluation(tuple(runs), guarantee.window)


def _several(values: Any) -> list[Any]:
    """A list of what was given: one value, or several."""
    single = isinstance(values, str | int | float) or not isinstance(values, Iterable)
    return [values] if single else list(values)


def _labelled(methods: Any) -> dict[str, Method[Any, Any]]:
    if isinstance(methods, Mapping):
        return {str(label): choose_method(method) for label, method in methods.items()}
    found: dict[str, Method[Any, Any]] = {}
    for method in _several(methods):
        chosen = choose_method(method)
        label = _label(chosen)
        if label in found:
            raise InvalidArgument(
                f"method {label!r} is there twice\n"
                "Give a mapping from label to method to tell them apart."
            )
        found[label] = chosen
    return found


def _label(method: Method[Any, Any]) -> str:
    """The name, with the parameters that differ from their defaults."""
    usual = type(method)().parameters()
    other = [
        f"{name}={value}" for name, value in method.parameters().items() if value != usual[name]
    ]
    return f"{method.name}({', '.join(other)})" if other else method.name


def _seed(*facts: object) -> int:
    """Derive a seed from everything that tells two runs apart."""
    digest = hashlib.sha256(json.dumps(facts, ensure_ascii=False).encode()).digest()
    return int.from_bytes(digest[:8]) >> 1
