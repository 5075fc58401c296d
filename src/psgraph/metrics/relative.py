"""The relative error that three of the five metrics share."""

from __future__ import annotations

__all__ = ["GAMMA", "UNDEFINED", "relative_error"]

#: The paper's γ, which keeps the denominator from zero; the value PrivGraph's code uses.
GAMMA = 1e-15

#: Relative errors this large have a true value of zero: means leave them out.
UNDEFINED = 1e6


def relative_error(original: float, synthetic: float) -> float:
    r"""Distance of a synthetic value from the original, relative to the original.

    .. math:: \frac{|\hat{x} - x|}{\max(γ, |x|)}

    The paper prints :math:`\max(γ, x)`. Degree assortativity can be negative, and the printed form
    would then divide by γ; the absolute value is what is meant and what PrivGraph computes. If the
    original is exactly zero and the synthetic value is not, the error is enormous, as in the paper:
    check the rows before trusting a mean.

    Examples
    --------
    >>> relative_error(-0.2, -0.1)
    0.5
    >>> relative_error(0.0, 0.0)
    0.0
    """
    return abs(synthetic - original) / max(GAMMA, abs(original))
