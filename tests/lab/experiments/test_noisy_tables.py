"""Noise on tables of counts has the scale that its promise needs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import norm

from psgraph.errors import InvalidArgument
from psgraph.graph import DIRECTED, Roster, Snapshot
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.unit import Owner
from psgraph_lab.experiments.noisy_tables import (
    DELTA,
    gaussian_scale,
    gaussian_threshold,
    noisy_tables,
)

FLOWS = DIRECTED.with_flows()


def test_laplace_noise_has_the_scale_of_all_rows_of_an_owner_and_its_share_of_the_window() -> None:
    count = 1_000  # far from 0, where noisy counts are cut
    ends = np.array([(u, v) for u in range(60) for v in range(60) if u != v]).T
    given = Snapshot(Roster.range(60), *ends, kind=FLOWS, weight=np.full(ends.shape[1], count))
    guarantee = WEventPrivacy("2", 5, Owner("rider", 4))
    (table,) = noisy_tables("laplace-table", [given], guarantee, 1)
    noise = table.weight - count
    assert noise.size == 60 * 59
    # Variance 2b² with b = θw/ε; six standard errors of a sample's variance.
    assert np.var(noise) == pytest.approx(2 * (4 * 5 / 2) ** 2, rel=6 * (5 / noise.size) ** 0.5)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("at_most", [1, 5])
def test_gaussian_noise_keeps_the_promise_and_no_less_would(epsilon: float, at_most: int) -> None:
    def lost(scale: float) -> float:
        """The δ of one Gaussian release in w dimensions, by integrating the excess."""
        shift = at_most * 5**0.5 / scale
        x = np.linspace(-12, 12 + shift, 400_001)
        excess = norm.pdf(x - shift) - np.exp(epsilon) * norm.pdf(x)
        return float(np.maximum(excess, 0).sum() * (x[1] - x[0]))

    scale = gaussian_scale(epsilon, 5, at_most)
    assert lost(scale) == pytest.approx(DELTA / 2, rel=1e-3)
    assert lost(0.99 * scale) > DELTA / 2


def test_cells_of_one_owner_stay_below_the_threshold_at_all_timestamps_together() -> None:
    scale, threshold = gaussian_scale(2.0, 5, 6), gaussian_threshold(2.0, 5, 6)
    for rows in (1, 2, 3, 6):
        shown = 5 * (6 // rows) * norm.sf((threshold - rows) / scale)
        assert shown <= DELTA / 2 * (1 + 1e-9)
    thresholds = [gaussian_threshold(2.0, 5, each) for each in (1, 2, 5, 10)]
    assert all(low < high for low, high in pairwise(thresholds))


def test_edges_without_rows_are_refused() -> None:
    given = Snapshot(Roster.range(3), [0], [1], kind=DIRECTED)
    with pytest.raises(InvalidArgument):
        next(noisy_tables("laplace-table", [given], WEventPrivacy("1", 1), 0))
