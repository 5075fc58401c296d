"""A method decides how much of the window it takes; every record shows what each timestamp took."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import pytest

from psgraph.errors import BudgetError, BudgetExceeded, MethodError
from psgraph.graph import Roster, SyntheticGraph
from psgraph.methods.base import Method
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.queries import EdgeCount
from psgraph.privacy.budget import GIVEN_BACK
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.ledger import Ledger
from psgraph.publication.locations import ledger_of
from psgraph.publication.publisher import Publisher
from psgraph.publication.releases import read_releases
from psgraph.publication.verification import verify
from psgraph.reports.public import public_page
from tests.crash.scenario import snapshot

GUARANTEE = WEventPrivacy("1", window=3)


@dataclass(frozen=True)
class Count:
    roster: Roster
    noisy_edges: int


class Bursts(Method[Count, Count]):
    """Spends the whole ε at every third timestamp and nothing in between."""

    name = "bursts"
    records: ClassVar[tuple[type, ...]] = (Count,)
    measured = 0

    def plan(self, guarantee: Any, *, nodes: int) -> list[Any]:
        return []

    def request(self, state: Any, accountant: Any) -> Any:
        first = accountant.timestamps % accountant.guarantee.window == 0
        return accountant.guarantee.epsilon if first else Fraction(0)

    def measure(self, private: PrivateSnapshot, state: Count | None) -> Count:
        type(self).measured += 1
        if state is not None and not private.remaining:
            return Count(private.roster, state.noisy_edges)
        return Count(private.roster, private.ask(EdgeCount(), epsilon=private.remaining))

    def synthesise(self, state: Any, previous: Any, rng: Any, engine: Any) -> SyntheticGraph:
        return SyntheticGraph(state.roster, [], [])


class TestBursts:
    @pytest.fixture
    def out(self, tmp_path: Path) -> Path:
        with Publisher(Bursts(), GUARANTEE, out=tmp_path / "out") as publisher:
            list(publisher.publish_all(snapshot(timestamp) for timestamp in range(5)))
        return tmp_path / "out"

    def test_certificates_say_what_each_timestamp_and_window_spent(self, out: Path) -> None:
        certificates = read_releases(out).certificates
        assert [each.spent for each in certificates] == [1, 0, 0, 1, 0]
        assert [each.window_spent for each in certificates] == [1, 1, 1, 1, 1]
        assert [len(each.charges) for each in certificates] == [1, 0, 0, 1, 0]

    def test_the_ledger_books_them(self, out: Path) -> None:
        with Ledger(ledger_of(out), writing=False) as ledger:
            assert [spent for _, _, spent in ledger.spends()] == [1, 0, 0, 1, 0]

    def test_verify_adds_up_every_window(self, out: Path) -> None:
        assert verify(out).largest_window_spent == "1"
        ledger_of(out).rename(out.parent / "aside")
        assert verify(out).largest_window_spent == "1"

    def test_the_spending_says_what_the_next_timestamp_can_have(self, tmp_path: Path) -> None:
        with Publisher(Bursts(), GUARANTEE) as publisher:
            seen = []
            for timestamp in range(4):
                publisher.publish(snapshot(timestamp))
                seen.append((publisher.spending.spends, publisher.spending.remaining))
        assert seen == [((1,), 0), ((1, 0), 0), ((1, 0, 0), 1), ((0, 0, 1), 0)]
        assert repr(publisher.spending) == (
            "Spending(1 of 1 spent in timestamps 1 to 3, 0 available for timestamp 4)"
        )

    def test_it_resumes_where_it_was(self, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("psgraph.publication.history.find_method", lambda _: Bursts)
        with Publisher.resume(ledger_of(out)) as publisher:
            assert publisher.spending.remaining == 0
            assert publisher.publish(snapshot(5)).certificate.spent == 0
            assert publisher.publish(snapshot(6)).certificate.spent == 1
        assert verify(out).timestamps == 7

    def test_lost_files_are_made_again(self, out: Path) -> None:
        before = {path.name: path.read_bytes() for path in out.glob("0*")}
        for path in out.glob("0*"):
            path.unlink()
        with Publisher(Bursts(), GUARANTEE, out=out) as publisher:
            list(publisher.publish_all(snapshot(timestamp) for timestamp in range(5)))
        assert {path.name: path.read_bytes() for path in out.glob("0*")} == before

    def test_the_public_report_shows_them(self, out: Path) -> None:
        page = public_page(out, verify(out)).html()
        assert "No window spent more than 1 of 1" in page


@pytest.mark.parametrize(
    ("request_of", "error"),
    [
        (lambda accountant: accountant.remaining + Fraction(1, 10**9), BudgetExceeded),
        (lambda _: Fraction(-1), BudgetError),
        (lambda _: 0.1, MethodError),
        (lambda _: True, MethodError),
        (lambda _: None, MethodError),
    ],
)
def test_what_asks_wrongly_measures_and_seals_nothing(
    tmp_path: Path, request_of: Any, error: type[Exception]
) -> None:
    class Asking(Bursts):
        measured = 0

        def request(self, state: Any, accountant: Any) -> Any:
            return request_of(accountant) if accountant.timestamps else Fraction(1, 3)

    out = tmp_path / "out"
    with Publisher(Asking(), GUARANTEE, out=out) as publisher:
        publisher.publish(snapshot(0))
        before = publisher.spending
        with pytest.raises(error):
            publisher.publish(snapshot(1))
        assert publisher.spending == before
    assert Asking.measured == 1
    assert verify(out).timestamps == 1
    assert not (out / "000001.parquet").exists()


def test_an_integer_is_an_exact_request() -> None:
    class Whole(Bursts):
        def request(self, state: Any, accountant: Any) -> Any:
            return 1

    release = Publisher(Whole(), GUARANTEE).publish(snapshot(0))
    assert release.certificate.spent == 1


class Thrifty(Bursts):
    """Requests all that is free, spends a fifth of it and gives the rest back."""

    name = "thrifty"

    def request(self, state: Any, accountant: Any) -> Any:
        return accountant.remaining

    def measure(self, private: PrivateSnapshot, state: Count | None) -> Count:
        share = private.epsilon / 5
        private.give_back(private.epsilon - share)
        return Count(private.roster, private.ask(EdgeCount(), epsilon=share))


def test_what_is_given_back_is_free_again_and_certificates_show_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with Publisher(Thrifty(), GUARANTEE, out=out) as publisher:
        list(publisher.publish_all(snapshot(timestamp) for timestamp in range(2)))
    with Publisher(Thrifty(), GUARANTEE, out=out) as publisher:  # the ledger has booked the same
        list(publisher.publish_all(snapshot(timestamp) for timestamp in range(4)))
    certificates = read_releases(out).certificates
    spent = [Fraction(1, 5), Fraction(4, 25), Fraction(16, 125)]
    spent.append((1 - spent[1] - spent[2]) / 5)
    assert [each.spent for each in certificates] == spent
    assert [each.window_spent for each in certificates][-1] == sum(spent[1:])
    assert certificates[0].charges[0].mechanism == GIVEN_BACK
    assert verify(out).releases == 4
