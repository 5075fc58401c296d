"""Owners: every method is replayed on neighbours that differ in all rows of one owner."""

from __future__ import annotations

import pytest

from psgraph.audit.owned import owned_streams
from psgraph.audit.replay import replay_all
from psgraph.graph.kind import DIRECTED, TWO_SIDED, UNDIRECTED
from psgraph.methods.registry import find_method, method_names
from psgraph_lab.mutants import OWNERS

PAIRS, MANY_PAIRS = 42, 10_000


@pytest.mark.parametrize("name", method_names())
def test_no_method_loses_more_than_epsilon_to_an_owner(name: str) -> None:
    replay(name, PAIRS)


@pytest.mark.long
@pytest.mark.parametrize("name", method_names())
def test_no_method_loses_more_than_epsilon_to_an_owner_on_many_pairs(name: str) -> None:
    replay(name, MANY_PAIRS)


def replay(name: str, wanted: int) -> None:
    """Replay pairs of every kind; the largest loss is all of what is charged, and no more."""
    method, largest = find_method(name)(), 0.0
    kinds = [each for each in (UNDIRECTED, DIRECTED, TWO_SIDED) if each.name in method.kinds]
    if method.publishes_weights:
        kinds += [each.with_weights(3) for each in kinds]
    if method.publishes_flows:
        kinds += [each.with_flows() for each in (DIRECTED, TWO_SIDED) if each in kinds]
    for kind in kinds:
        pairs = owned_streams(-(-wanted // len(kinds)), kind=kind)
        replayed = replay_all(method, pairs, traced=False)
        assert replayed.holds, replayed.divergences
        assert replayed.largest_loss <= 1
        largest = max(largest, replayed.largest_loss)
    assert largest >= 0.99


@pytest.mark.parametrize("mutant", OWNERS, ids=lambda mutant: mutant.name)
@pytest.mark.parametrize("kind", [UNDIRECTED, DIRECTED], ids=str)
def test_deliberate_bugs_with_owners_are_found(mutant, kind) -> None:  # type: ignore[no-untyped-def]
    with mutant.applied():
        assert not replay_all(find_method("tmf")(), owned_streams(9, kind=kind), traced=False).holds
