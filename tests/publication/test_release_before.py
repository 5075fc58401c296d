"""The release before a timestamp: given to methods that grow from it, read or made again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psgraph.engines.runner import Runner
from psgraph.errors import VerificationFailed
from psgraph.graph import Roster, SyntheticGraph
from psgraph.methods.base import Method, NoisePlan
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.queries import EdgeCount
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher
from psgraph.testing import check_method
from tests.crash.scenario import GUARANTEE, snapshot
from tests.publication.test_sealed import contents, rows

TIMESTAMPS = 6


@dataclass(frozen=True)
class Counted:
    roster: Roster
    noisy_edges: int


class Snowball(Method[Counted, Counted]):
    """Keeps every edge of the release before and adds one: a lost release shows in all later."""

    name = "snowball"
    records = (Counted,)
    queries = (EdgeCount,)
    grows_from_release = True

    def plan(self, guarantee: WEventPrivacy, *, nodes: int) -> list[NoisePlan]:
        del nodes
        return [NoisePlan.of("every timestamp", EdgeCount, guarantee.per_timestamp)]

    def measure(self, private: PrivateSnapshot, state: Counted | None) -> Counted:
        del state
        return Counted(private.roster, private.ask(EdgeCount(), epsilon=private.remaining))

    def synthesise(
        self,
        state: Counted,
        previous: SyntheticGraph | None,
        rng: np.random.Generator,
        engine: Runner,
    ) -> SyntheticGraph:
        del engine
        nodes = len(state.roster)
        if nodes < 2:
            return SyntheticGraph(state.roster, [], [])
        ends = [rng.choice(nodes, size=2, replace=False)]
        if previous is not None and previous.roster == state.roster:
            ends.extend(zip(previous.u, previous.v, strict=True))
        return SyntheticGraph(state.roster, *np.array(ends).T)


def publish(out: Path | None, timestamps: Sequence[int], **options: Any) -> list[SyntheticGraph]:
    with Publisher(Snowball(), GUARANTEE, out=out, **options) as publisher:
        return [
            publisher.publish(snapshot(number), timestamp=number).graph for number in timestamps
        ]


def everything(out: Path) -> tuple[dict[str, str], list[bytes]]:
    return contents(out), rows(out)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    publish(tmp_path / "out", range(TIMESTAMPS))
    return tmp_path / "out"


def lose(out: Path, *timestamps: int) -> None:
    for timestamp in timestamps:
        for path in out.glob(f"{timestamp:06d}*"):
            path.unlink()


def test_it_conforms() -> None:
    check_method(Snowball())


@pytest.mark.parametrize("durable", [True, False])
def test_every_graph_grows_from_the_one_before(tmp_path: Path, durable: bool) -> None:
    options = {} if durable else {"seed": 1}
    graphs = publish(tmp_path / "out" if durable else None, range(TIMESTAMPS), **options)
    pairs = [set(zip(graph.u.tolist(), graph.v.tolist(), strict=True)) for graph in graphs]
    assert all(one <= other for one, other in pairwise(pairs))
    assert len(pairs[-1]) > 1


def test_it_grows_from_the_file_after_a_restart(out: Path) -> None:
    (graph,) = publish(out, [TIMESTAMPS])
    assert graph.edge_count >= TIMESTAMPS - 1


@pytest.mark.parametrize("lost", [[5], [3], [2, 3, 4], [0, 1], range(TIMESTAMPS)])
@pytest.mark.parametrize("asked", [[5], [3, 4], range(TIMESTAMPS)])
def test_lost_chains_are_made_again_to_the_byte(
    out: Path, lost: Sequence[int], asked: Sequence[int]
) -> None:
    before = everything(out)
    lose(out, *lost)
    publish(out, asked)
    publish(out, range(TIMESTAMPS))
    assert everything(out) == before


def test_the_last_release_is_made_again_before_the_next(out: Path) -> None:
    before = contents(out)
    lose(out, 3, 4, 5)
    publish(out, [TIMESTAMPS])
    after = contents(out)
    assert before.items() <= after.items()


def test_a_ledger_without_files_knows_the_release_before(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    publish(None, range(3), ledger=ledger)
    (graph,) = publish(None, [3], ledger=ledger)
    assert graph.edge_count >= 2


def test_if_it_can_not_be_made_again_nothing_is_measured(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(out, TIMESTAMPS - 1)

    def otherwise(self: Snowball, state: Counted, *_: object) -> SyntheticGraph:
        return SyntheticGraph(state.roster, [0], [1])

    monkeypatch.setattr(Snowball, "synthesise", otherwise)
    before = rows(out)
    with Publisher(Snowball(), GUARANTEE, out=out) as publisher, pytest.raises(VerificationFailed):
        publisher.publish(snapshot(TIMESTAMPS), timestamp=TIMESTAMPS)
    assert rows(out) == before


def test_a_changed_release_is_not_grown_from(out: Path) -> None:
    path = out / f"{TIMESTAMPS - 1:06d}.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with Publisher(Snowball(), GUARANTEE, out=out) as publisher, pytest.raises(VerificationFailed):
        publisher.publish(snapshot(TIMESTAMPS), timestamp=TIMESTAMPS)


def test_other_methods_are_given_none(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def noted(self: Snowball, state: Counted, previous: object, *_: object) -> SyntheticGraph:
        given.append(previous)
        return SyntheticGraph(state.roster, [], [])

    monkeypatch.setattr(Snowball, "synthesise", noted)
    monkeypatch.setattr(Snowball, "grows_from_release", False)
    publish(None, range(3), seed=1)
    assert given == [None] * 3
