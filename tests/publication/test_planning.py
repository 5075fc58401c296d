"""`plan`: noise scales before anything is spent."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import psgraph as pg
from psgraph.errors import InvalidArgument
from psgraph.publication.planning import plan
from tests.refusals import refused

GUARANTEE = pg.WEventPrivacy("1", window=5)


def scales(found: bool) -> dict[str, float]:
    case = "communities found again" if found else "communities kept"
    rows = plan(GUARANTEE, nodes=10_000, method="psgraph").rows
    return {row.label: row.scale for row in rows if row.case == case}


def test_the_scales_of_the_specification():
    """ε = 1, w = 5: the worked numbers of the algorithm's description."""
    kept, found = scales(False), scales(True)
    assert kept["edges"] == found["edges"] == 100
    assert kept["inner degrees"] == pytest.approx(10.5, abs=0.05)
    assert found["inner degrees"] == pytest.approx(21, abs=0.06)
    assert kept["outer degrees"] == pytest.approx(21, abs=0.06)
    assert found["outer degrees"] == pytest.approx(42, abs=0.12)
    assert kept["community edges"] == pytest.approx(10.5, abs=0.05)
    assert found["community edges"] == pytest.approx(21, abs=0.06)


def test_each_case_spends_the_share_of_a_timestamp():
    rows = plan(pg.WEventPrivacy("1/3", window=4), nodes=5, method="psgraph").rows
    for case in {row.case for row in rows}:
        spent = {row.label: row.epsilon for row in rows if row.case == case}
        choice = spent.get("super-graph edges", Fraction(0))  # the choice costs as much again
        total = spent["edges"] + 2 * choice + spent["inner degrees"]
        assert total == Fraction(1, 12)
        assert spent["outer degrees"] + spent["community edges"] == spent["inner degrees"]


def test_as_plain_data():
    content = json.loads(json.dumps(plan(GUARANTEE, nodes=3, method=pg.PSGraph()).to_dict()))
    assert content["epsilon_per_timestamp"] == "0.2"
    assert content["nodes"] == 3
    assert content["method"] == "psgraph"
    assert content["measurements"][0]["noise_scale"] == 100


@pytest.mark.parametrize("nodes", [-1, 1.0, "5", True, None])
def test_wrong_numbers_of_nodes(nodes):
    with refused(InvalidArgument, "not_a_count"):
        plan(GUARANTEE, nodes=nodes)


def test_an_unknown_method():
    with pytest.raises(InvalidArgument, match=r"Installed methods: .*psgraph"):
        plan(GUARANTEE, nodes=3, method="guessing")


def test_a_method_that_spends_unevenly_is_not_said_to_spend_the_even_share():
    even, uneven = (plan(GUARANTEE, nodes=100, method=name) for name in ("psgraph", "psgraph-plus"))
    assert even.to_dict()["epsilon_per_timestamp"] == "0.2"
    assert uneven.to_dict()["epsilon_per_timestamp"] is None
