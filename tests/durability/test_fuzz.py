"""A few thousand broken inputs of every kind; `make crash` tries a hundred thousand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crash.scenario import workspace

from .fuzz import KINDS, Playground, check

EXAMPLES = 2_500


@pytest.fixture(scope="module")
def playground() -> Iterator[Playground]:
    with workspace() as base:
        yield Playground(base)


@pytest.mark.parametrize("kind", KINDS)
def test_only_typed_errors_soon_and_without_a_node(playground: Playground, kind: str) -> None:
    share = KINDS[kind][1]
    check(playground, kind, EXAMPLES * share // 100)


def test_all_kinds_together_are_enough() -> None:
    assert sum(EXAMPLES * share // 100 for _, share in KINDS.values()) >= 2_000
    assert sum(share for _, share in KINDS.values()) == 100
