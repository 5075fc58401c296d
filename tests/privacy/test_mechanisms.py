"""A budget charges for noise, adds up correctly and remembers no private value."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psgraph.errors import BudgetExceeded, MethodError
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Budget, Charge
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.mechanisms.exponential import CommunityChoice, Scores
from psgraph.privacy.mechanisms.laplace import LaplaceCount, LaplaceCounts
from psgraph.privacy.mechanisms.sparse import SparseLaplaceCounts
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler

from .test_units import Rows

SECRET = 987_654_321
ONE, HALF, QUARTER = Fraction(1), Fraction(1, 2), Fraction(1, 4)


class Watched(Sampler):
    """Knows whether anything was drawn."""

    def __init__(self) -> None:
        super().__init__(RandomSource.seeded(5))
        self.rates: list[Fraction] = []

    @property
    def untouched(self) -> bool:
        return np.array_equal(self.source.peek(4)[:4], RandomSource.seeded(5).peek(4)[:4])

    def discrete_laplace(self, size: int, rate: Fraction) -> np.ndarray:
        self.rates.append(rate)
        return super().discrete_laplace(size, rate)


@pytest.fixture
def sampler() -> Watched:
    return Watched()


@pytest.fixture
def budget(sampler) -> Budget:
    return Budget(ONE, sampler)


def count(budget: Budget, epsilon: Fraction, *, label: str = "edges", amount: int = 1) -> int:
    return budget.run(LaplaceCount(7, amount), epsilon=epsilon, label=label)


def sparse_counts(cell: int, value: object, *, size: int, amount: int = 1) -> SparseLaplaceCounts:
    return SparseLaplaceCounts(
        np.array([cell]),
        np.array([value]),
        size=size,
        threshold=lambda _values, _how_often: SECRET / 2,
        sensitivity=amount,
    )


def choice(nodes: int = 1, strength: Fraction = HALF) -> CommunityChoice:
    """Of nodes without edges, each in a community of its own."""
    nothing = np.zeros(0, dtype=np.int32)
    scores = Scores(0, np.zeros(nodes + 1, dtype=np.int64), nothing, nothing)
    return CommunityChoice([scores], np.arange(nodes, dtype=np.int32), strength=strength)


# ---- charging ----


def test_sequential_calls_add_up(budget):
    count(budget, QUARTER)
    count(budget, HALF)
    assert budget.spent == Fraction(3, 4)
    assert budget.remaining == QUARTER
    assert [charge.epsilon for charge in budget.trace] == [QUARTER, HALF]


def test_parallel_parts_count_once(budget):
    inside, between = budget.parallel(HALF, "inside", "between")
    count(inside, HALF, label="a")
    count(between, QUARTER, label="b")
    count(between, QUARTER, label="c")
    assert budget.spent == HALF
    assert inside.remaining == between.remaining == 0
    parts = [(charge.label, charge.part) for charge in budget.trace]
    assert parts == [("a", "inside"), ("b", "between"), ("c", "between")]
    assert [charge.label for charge in between.trace] == ["b", "c"]


def test_parts_of_parts(budget):
    (outer,) = budget.parallel(HALF, "outer")
    one, other = outer.parallel(QUARTER, "one", "other")
    count(one, QUARTER, label="a")
    count(other, QUARTER, label="b")
    assert outer.spent == QUARTER
    assert [charge.part for charge in budget.trace] == ["outer / one", "outer / other"]
    assert budget.spent == HALF


def test_the_noise_has_the_rate_that_was_paid(budget, sampler):
    count(budget, QUARTER, amount=1)
    count(budget, QUARTER, amount=2)
    budget.run(sparse_counts(1, 3, size=9, amount=3), epsilon=HALF, label="sparse")
    assert sampler.rates == [QUARTER, QUARTER / 2, HALF / 3]


def test_a_unit_of_several_edges_is_charged_and_hidden_as_one(sampler):
    guarantee = WEventPrivacy(1, window=1, unit=Rows(5))
    budget = Budget(ONE, sampler, spending=Accountant(guarantee))
    counts = LaplaceCounts(np.zeros(3, dtype=np.int64), 2)
    count(budget, QUARTER, amount=2)
    budget.run(counts, epsilon=QUARTER, label="x", sensitivity=4)
    (part,) = budget.parallel(HALF, "part")
    with pytest.raises(MethodError):  # the edges of a unit may lie in several parts
        part.run(counts, epsilon=HALF, label="x", sensitivity=4)
    part.run(counts, epsilon=HALF, label="x")
    assert sampler.rates == [QUARTER / 10, QUARTER / 4, HALF / 10]
    assert [charge.sensitivity for charge in budget.trace] == [10, 4, 10]
    assert part.unit == budget.unit == Rows(5)


def test_a_mechanism_without_a_scale_draws_with_a_share_for_each_edge_of_a_unit():
    drawn = []

    class Watching(CommunityChoice):
        def draw(self, sampler, epsilon):
            drawn.append(epsilon)
            return super().draw(sampler, epsilon)

    unit = WEventPrivacy(1, window=1, unit=Rows(5))
    budget = Budget(ONE, Watched(), spending=Accountant(unit))
    plain = choice()
    budget.run(Watching(plain.scores, plain.labels), epsilon=HALF, label="x")
    assert drawn == [HALF / 5]
    assert (budget.spent, budget.trace[0].sensitivity) == (HALF, 5)


# ---- refusals, before anything is drawn ----


def expect_untouched(budget: Budget, sampler: Watched) -> None:
    assert budget.spent == 0
    assert budget.trace == ()
    assert sampler.untouched


def test_overspending_is_refused_before_drawing(budget, sampler):
    with pytest.raises(BudgetExceeded) as caught:
        count(budget, Fraction(5, 4))
    assert str(caught.value).splitlines()[1:4] == [
        "  requested   1.25",
        "  remaining   1",
        "  difference  0.25",
    ]
    assert (caught.value.requested, caught.value.remaining) == (Fraction(5, 4), ONE)
    assert caught.value.exit_code == 3
    expect_untouched(budget, sampler)


def test_a_part_can_not_overspend_either(budget, sampler):
    (part,) = budget.parallel(HALF, "part")
    with pytest.raises(BudgetExceeded):
        count(part, Fraction(51, 100))
    with pytest.raises(BudgetExceeded, match="one ∥ other"):
        budget.parallel(Fraction(51, 100), "one", "other")
    assert budget.spent == HALF
    assert sampler.untouched


@pytest.mark.parametrize("epsilon", [0.25, 1, "1", None, Fraction(0), Fraction(-1, 4)])
def test_only_a_positive_fraction_buys_noise(budget, sampler, epsilon):
    with pytest.raises(MethodError, match="epsilon"):
        count(budget, epsilon)
    with pytest.raises(MethodError, match="epsilon"):
        budget.parallel(epsilon, "part")
    expect_untouched(budget, sampler)


@pytest.mark.parametrize("value", [1.5, True, "7", None, 10**30])
def test_only_integers_are_measured(value):
    with pytest.raises(MethodError):
        LaplaceCount(value, 1)


def test_floats_are_refused_in_vectors_too():
    with pytest.raises(MethodError, match="float64"):
        LaplaceCounts(np.zeros(3), 1)
    with pytest.raises(MethodError, match="float64"):
        sparse_counts(0, 0.5, size=3)


@pytest.mark.parametrize("amount", [0, -1])
def test_a_sensitivity_is_at_least_one(budget, sampler, amount):
    with pytest.raises(MethodError):
        count(budget, HALF, amount=amount)
    with pytest.raises(MethodError):
        budget.run(LaplaceCount(7, 1), epsilon=HALF, label="x", sensitivity=amount)
    expect_untouched(budget, sampler)


@pytest.mark.parametrize("strength", [Fraction(0), Fraction(-1), Fraction(51, 100), Fraction(1)])
def test_a_choice_stronger_than_paid_for_is_refused(strength):
    with pytest.raises(MethodError, match="strength"):
        choice(strength=strength)


def test_only_mechanisms_can_be_run(budget, sampler):
    with pytest.raises(MethodError):
        budget.run(lambda: SECRET, epsilon=HALF, label="x")
    expect_untouched(budget, sampler)


# ---- what comes out ----


@pytest.mark.parametrize("shape", [(6,), (2, 3), (6, 1), (1, 6), (0,), (0, 3)])
def test_every_value_has_noise_of_its_own(budget, shape):
    values = np.full(shape, SECRET, dtype=np.int64)
    noisy = budget.run(LaplaceCounts(values, 1), epsilon=Fraction(1, 1000), label="x")
    assert noisy.shape == shape
    assert np.unique(noisy).size == values.size
    assert budget.trace[0].shape == shape


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64])
def test_small_integers_do_not_wrap_around(budget, dtype):
    values = np.full(200, 100, dtype=dtype)
    noisy = budget.run(LaplaceCounts(values, 1), epsilon=Fraction(1, 500), label="x")
    assert noisy.dtype == np.int64
    assert noisy.min() < -128
    assert noisy.max() > 255


def test_no_private_value_stays_behind(budget):
    mechanisms = (
        LaplaceCounts(np.full(5, SECRET, dtype=np.int64), 1),
        sparse_counts(SECRET, SECRET, size=SECRET + 1),
        choice(2),
    )
    for mechanism, label in zip(mechanisms, "abc", strict=True):
        budget.run(mechanism, epsilon=QUARTER, label=label)
    said = repr(budget) + repr(budget.trace[0]) + repr(budget.trace[2])
    assert str(SECRET) not in said
    assert repr(budget) == "Budget(0.25 of 1 left)"
    # The shape of what comes out is public; nothing else of a vector is kept.
    assert budget.trace[1].shape == (SECRET + 1,)
    for charge in budget.trace:
        assert set(vars(charge)) == {
            "mechanism",
            "label",
            "epsilon",
            "sensitivity",
            "shape",
            "part",
            "proven",
            "split",
        }
    for value, error in ((SECRET, BudgetExceeded), (float(SECRET), MethodError)):
        with pytest.raises(error) as caught:
            budget.run(LaplaceCount(value, 1), epsilon=ONE, label="d")
        assert str(SECRET) not in str(caught.value)


def test_a_mechanism_does_not_print_its_private_values():
    assert repr(LaplaceCount(SECRET, 1)) == "<LaplaceCount of shape (1,)>"
    assert str(SECRET) not in repr(LaplaceCounts(np.array([SECRET]), 1))
    assert repr(Coin(SECRET)) == "<Coin of shape (1,)>"

    class Named(Coin):
        def __repr__(self) -> str:
            return "a coin"

    assert repr(Named(SECRET)) == "a coin"


# ---- a mechanism of one's own ----


@dataclass(frozen=True)
class Coin(Mechanism[int]):
    """Nothing of `private` comes out."""

    private: int
    proven: bool = False  # a field here, so that a test can choose
    name, proof = "coin", "none"
    sensitivity = 3
    shape = (1,)

    def draw(self, sampler: Sampler, epsilon: Fraction) -> int:
        assert epsilon == HALF
        return int(sampler.integers(1, 2)[0])


def test_a_mechanism_of_a_plug_in_is_charged_traced_and_drawn(budget, sampler):
    (part,) = budget.parallel(HALF, "part")
    drawn = part.run(Coin(SECRET, proven=True), epsilon=HALF, label="toss")
    assert drawn in (0, 1)
    assert not sampler.untouched
    assert budget.trace == (Charge("coin", "toss", HALF, 3, (1,), "part"),)
    assert budget.spent == HALF


def test_a_mechanism_that_draws_is_paid_for_first(budget):
    class Broken(Coin):
        def draw(self, sampler, epsilon):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        budget.run(Broken(1), epsilon=HALF, label="x")
    assert budget.spent == HALF
    assert len(budget.trace) == 1


def test_a_charge_in_a_certificate():
    charge = Charge("discrete Laplace", "edges", Fraction(1, 3), 2, (4,))
    assert json.loads(json.dumps(charge.to_dict())) == {
        "label": "edges",
        "mechanism": "discrete Laplace",
        "epsilon": "1/3",
        "sensitivity": 2,
        "shape": [4],
    }
    part = Charge("discrete Laplace", "edges", ONE, 2, (), part="inside")
    assert part.to_dict()["part"] == "inside"
    unproven = Charge("coin", "toss", ONE, 1, (), proven=False)
    assert unproven.to_dict()["proven"] is False
    for each in (charge, part, unproven):
        assert Charge.from_dict(each.to_dict()) == each


def test_a_mechanism_without_a_proof_says_so_in_the_trace(budget):
    budget.run(Coin(SECRET), epsilon=HALF, label="toss")
    assert budget.spent == HALF
    assert [charge.proven for charge in budget.trace] == [False]


def test_draws_that_depend_on_no_data_are_free(budget):
    assert sorted(budget.random_order(9).tolist()) == list(range(9))
    assert set(budget.random_labels(100, 3).tolist()) == {0, 1, 2}
    assert budget.random_labels(0, 0).size == 0
    assert 0 <= budget.random_seed() < 1 << 32
    assert budget.spent == 0
    assert budget.trace == ()


@pytest.mark.parametrize("choices", [0, -1])
def test_labels_without_a_choice_are_refused(budget, choices):
    with pytest.raises(MethodError):
        budget.random_labels(5, choices)


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.integers(1, 3), st.integers(0, 6)), min_size=1, max_size=8
    )
)
def test_another_weight_never_loses_more_than_is_charged(calls):
    budget = Budget(Fraction(100), Sampler(RandomSource.seeded(3)))
    spent = lost = Fraction(0)
    for epsilon, sensitivity, moved in calls:
        spent, lost = spent + epsilon, lost + Fraction(epsilon * moved, sensitivity)
        asked = {"epsilon": Fraction(epsilon), "label": "weights", "weight_sensitivity": moved}
        if lost > spent:
            before = budget.trace
            with pytest.raises(MethodError):
                budget.run(LaplaceCount(7, sensitivity), **asked)
            assert budget.trace == before
            return
        budget.run(LaplaceCount(7, sensitivity), **asked)
    assert budget.spent == spent
