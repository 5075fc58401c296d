"""The unit of privacy and the guarantee are values that every file and message is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest

import psgraph as pg
from psgraph.errors import BudgetError, UnitMismatch
from psgraph.graph.kind import DIRECTED, UNDIRECTED
from psgraph.privacy import unit as units
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.unit import Edge, Owner, Row, Unit
from psgraph.publication.certificate import Certificate
from psgraph.publication.planning import plan
from psgraph.publication.terms import Promise, Terms


@dataclass(frozen=True)
class Rows(Unit):
    """At most `at_most` rows of a made-up owner."""

    at_most: int
    privacy = "ε-row differential privacy"

    @property
    def edges(self) -> int:
        return self.at_most

    @property
    def text(self) -> str:
        return f"all rows of one owner, at most {self.at_most} of them"

    @property
    def noun(self) -> str:
        return "one owner"

    def change(self, when: str = "") -> str:
        return f"whether the rows of one owner{when} are there"


@pytest.fixture
def with_rows(monkeypatch: pytest.MonkeyPatch) -> WEventPrivacy:
    monkeypatch.setattr(units, "UNITS", (Edge, Rows))
    return WEventPrivacy("1/3", window=4, unit=Rows(5))


def test_an_edge_is_the_unit_unless_another_is_stated() -> None:
    assert WEventPrivacy("1", window=5).unit == Edge()
    assert WEventPrivacy.from_dict({"epsilon": "1", "window": 5}).unit == Edge()


@pytest.mark.parametrize("window", [1, 7])
def test_a_guarantee_can_be_read_back(window: int) -> None:
    guarantee = WEventPrivacy("0.1", window=window)
    assert WEventPrivacy.from_dict(guarantee.to_dict() | {"other": 1}) == guarantee


def test_a_unit_with_a_bound_can_be_read_back(with_rows: WEventPrivacy) -> None:
    content = with_rows.to_dict()
    assert content["at_most"] == 5
    assert WEventPrivacy.from_dict(content) == with_rows
    assert with_rows != replace(with_rows, unit=Edge())


@pytest.mark.parametrize("change", [{"at_most": 6}, {"unit": "one node"}, {"unit": None}])
def test_words_that_do_not_fit_the_bounds_are_refused(
    with_rows: WEventPrivacy, change: dict[str, object]
) -> None:
    with pytest.raises(ValueError, match="unit"):
        WEventPrivacy.from_dict(with_rows.to_dict() | change)


def test_a_unit_without_its_bound_is_refused(with_rows: WEventPrivacy) -> None:
    content = with_rows.to_dict()
    del content["at_most"]
    with pytest.raises(ValueError, match="unit"):
        WEventPrivacy.from_dict(content)


def test_a_unit_in_words_is_no_unit() -> None:
    with pytest.raises(BudgetError):
        WEventPrivacy("1", window=5, unit="one edge of one snapshot")  # type: ignore[arg-type]


def test_a_promise_is_about_the_unit(with_rows: WEventPrivacy) -> None:
    promise = Promise(with_rows)
    assert with_rows.unit.change(" at each of these timestamps") in promise.text
    assert with_rows.unit.privacy in str(with_rows)
    assert promise.provides == with_rows


def test_a_caveat_keeps_the_unit(with_rows: WEventPrivacy) -> None:
    from psgraph.methods.base import Caveat

    provides = Promise(with_rows, Caveat(Fraction(2), "Half the noise.")).provides
    assert provides == replace(with_rows, epsilon=Fraction(2, 3))


def test_a_certificate_states_unit_and_bounds(with_rows: WEventPrivacy) -> None:
    snapshot = pg.Snapshot.from_edges([(0, 1)], roster=pg.Roster(range(4)))
    with pg.Publisher(pg.TmF(), WEventPrivacy("1", window=2), seed=1) as publisher:
        certificate = replace(publisher.publish(snapshot).certificate, guarantee=with_rows)
    read = Certificate.from_json(certificate.to_json())
    assert read == certificate
    assert read.to_dict()["at_most"] == 5


def _terms(guarantee: WEventPrivacy) -> Terms:
    return Terms(guarantee, "tmf", 1, {"filter": "exact"}, None, "exact", None)


def test_terms_state_the_unit_unless_it_is_an_edge(with_rows: WEventPrivacy) -> None:
    assert b"unit" not in _terms(WEventPrivacy("1", window=2)).to_bytes()
    stored = _terms(with_rows).to_bytes()
    assert b"at_most" in stored
    assert Terms.from_bytes(stored) == replace(_terms(with_rows), kind=UNDIRECTED)


def test_a_different_unit_is_a_difference_of_terms(with_rows: WEventPrivacy) -> None:
    changed = _terms(with_rows).differences(_terms(replace(with_rows, unit=Edge())))
    assert changed.keys() == {"unit", "at_most"}


def test_a_method_refuses_a_unit_it_does_not_support(with_rows: WEventPrivacy) -> None:
    with pytest.raises(UnitMismatch):
        pg.Publisher(pg.TmF(), with_rows, seed=1)
    with pytest.raises(UnitMismatch):
        plan(with_rows, nodes=10, method="tmf")


def test_a_method_may_support_a_further_unit(with_rows: WEventPrivacy) -> None:
    class RowMethod(pg.TmF):
        units = (Edge, Rows)

    pg.Publisher(RowMethod(), with_rows, seed=1).close()


def test_a_method_refuses_a_kind_of_graph_it_does_not_publish() -> None:
    from psgraph.errors import KindMismatch
    from psgraph.graph.kind import Kind

    class Stream(list[pg.Snapshot]):
        kind = Kind("directed", sides=2)

        def __iter__(self) -> Any:
            raise AssertionError("nothing may be read")

    with (
        pg.Publisher(pg.PrivHRG(), WEventPrivacy("1", window=2), seed=1) as publisher,
        pytest.raises(KindMismatch),
    ):
        list(publisher.publish_all(Stream()))


@pytest.mark.parametrize("flows", [False, True])
@pytest.mark.parametrize("column", ["u", "v", "rider"])
@pytest.mark.parametrize("at_most", [1, 2, 1000])
def test_an_owner_can_be_read_back(column: str, at_most: int, flows: bool) -> None:
    guarantee = WEventPrivacy("1", window=5, unit=Owner(column, at_most, flows))
    assert WEventPrivacy.from_dict(guarantee.to_dict()) == guarantee
    kind = DIRECTED.with_flows() if flows else DIRECTED
    assert Terms.from_bytes(_terms(guarantee).on(kind).to_bytes()) == _terms(guarantee).on(kind)


@pytest.mark.parametrize(
    ("column", "at_most"),
    [("", 1), (" ", 1), (3, 1), ("u", 0), ("u", True), ("u", "2"), ("u", 1.5)],
)
def test_an_owner_has_a_column_and_a_bound(column: Any, at_most: Any) -> None:
    with pytest.raises(BudgetError):
        Owner(column, at_most)


def test_an_owner_is_one_side_of_an_edge_or_neither() -> None:
    assert [Owner(column, 1).side for column in ("u", "v", "rider")] == ["first", "second", None]


def test_the_promise_to_owners_says_what_it_covers() -> None:
    text = WEventPrivacy("2", window=7, unit=Owner("u", at_most=2)).text
    assert text == (
        "Over any 7 consecutive timestamps all releases together satisfy ε-differential privacy "
        "for owners with ε = 2: whether all rows of one person (column u) at each of these "
        "timestamps are in the data or not changes the probability of any result by a factor of "
        "at most exp(2). Replacing a person's rows by other rows is covered at 2ε. At most 2 edges "
        "of a person per timestamp are used. Which person has which edges in this graph is made up."
    )
    rider = WEventPrivacy("2", window=7, unit=Owner("rider", at_most=2))
    assert "made up" not in rider.text
    assert "50 % sure of one person's rows within 7" in rider.meaning


def test_flows_without_owners_protect_a_row() -> None:
    guarantee = WEventPrivacy("1", window=2)
    of_rows = guarantee.on(directed=True, weighted=True, flows=True)
    assert of_rows.unit == Row()
    assert of_rows.on(directed=True, weighted=False).unit == Edge(directed=True)
    assert WEventPrivacy.from_dict(of_rows.to_dict()) == of_rows
    assert "one row more or less" in of_rows.text
    assert of_rows.unit.edges == 1
    assert of_rows.unit.noun in of_rows.meaning


def test_an_edge_is_named_in_every_form():
    unit = Edge()
    assert unit.change(" today").startswith(unit.noun)
    assert unit.noun in unit.text


@pytest.mark.parametrize(
    ("epsilon", "most"),
    [("0.000000000001", "50 %"), ("1", "73.1 %"), ("8", "99.97 %"), ("2000", "100 %")],
)
def test_what_epsilon_means_is_said_in_numbers(epsilon: str, most: str) -> None:
    for window, words in ((1, "at one timestamp"), (3, "within 3 consecutive timestamps")):
        meaning = WEventPrivacy(epsilon, window=window).meaning
        assert most in meaning
        assert words in meaning
