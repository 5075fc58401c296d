"""Intervals that follow from the noise itself, without a rerun.

The certificate says how noisy the edge count was that a method measured. Where a method filters its
measurements over time, the variance of the filter follows from that noise and from the steps
between releases: in its steady state a random-walk filter moves, from one release to the next, with
exactly the variance with which it assumes the true value to move.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from psgraph._runtime.arrays import Floats

if TYPE_CHECKING:
    from psgraph.methods.base import Method
    from psgraph.privacy.query import Counted
    from psgraph.publication.certificate import Certificate

__all__ = ["NOISE_FORMS", "NoiseForm", "edge_margin"]

#: What the number of edges was estimated from: the measured edge count; that and the sum of the
#: measured degrees; both, filtered over time.
NoiseForm = Literal["edges", "edges and degrees", "filtered"]

NOISE_FORMS: tuple[NoiseForm, ...] = ("edges", "edges and degrees", "filtered")


def edge_margin(
    method: Method[Any, Any],
    certificates: Sequence[Certificate],
    edges: Floats,
    form: NoiseForm,
) -> Floats:
    """Return half the width of the 90 % interval of the number of edges, at every timestamp.

    NaN where nothing was measured that the method's plan says to count edges.

    Parameters
    ----------
    certificates
        What was measured, and with which ε.
    edges
        The released numbers of edges, one for each certificate.
    """
    variance = _edge_variance(method, certificates, degrees=form != "edges")
    if form == "filtered":
        variance = settled_variance(variance, np.diff(edges))
    return np.sqrt(variance / 2) * log(10)  # Laplace noise of scale b exceeds b·ln 10 in 10 %


def settled_variance(noise: Floats, steps: Floats) -> Floats:
    """Return the variance of a random-walk filter in its steady state.

    Parameters
    ----------
    noise
        The variance of one measurement, at every timestamp.
    steps
        The differences between consecutive filtered values.

    Examples
    --------
    >>> settled_variance(np.array([100.0]), np.array([10.0, -10.0])).round(1)
    array([61.8])
    """
    if not steps.size:
        return noise
    drift = float(np.mean(np.square(steps)))
    return (np.sqrt(drift**2 + 4 * drift * noise) - drift) / 2


def _edge_variance(
    method: Method[Any, Any], certificates: Sequence[Certificate], *, degrees: bool
) -> Floats:
    """Return the variance of the noise on the number of edges, at every timestamp."""
    last = certificates[-1]
    plan = method.plan(last.guarantee, nodes=max(last.nodes, 1))
    counted: dict[str, tuple[Counted, int]] = {row.label: (row.counts, row.terms) for row in plan}
    found = []
    for certificate in certificates:
        noise: dict[Counted, float] = {}
        for charge in certificate.charges:
            what, terms = counted.get(charge.label, ("", 1))
            if what and charge.epsilon:
                variance = 2 * (charge.sensitivity / float(charge.epsilon)) ** 2 * terms
                noise[what] = noise.get(what, 0.0) + variance
        precision = 1 / noise["edges"] if "edges" in noise else 0.0
        if degrees and "degree" in noise:  # their sum is twice the number of edges
            precision += 4 / (max(certificate.nodes, 1) * noise["degree"])
        found.append(1 / precision if precision else np.nan)
    return np.array(found)
