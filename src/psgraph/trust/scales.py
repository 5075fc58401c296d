"""Scales on which errors and statistics are compared: what is a ratio becomes a difference."""

from __future__ import annotations

from typing import Literal

import numpy as np

from psgraph._runtime.arrays import Floats

__all__ = ["Scale", "from_scale", "to_scale"]

#: ``log``: errors. ``count``: numbers of something. ``logit``: shares. ``atanh``: correlations.
Scale = Literal["log", "count", "logit", "atanh", "none"]

_LEAST_ERROR, _LEAST_SHARE, _MOST_CORRELATION = 0.002, 0.0005, 0.999


def to_scale(values: Floats, scale: Scale) -> Floats:
    """Return values on a scale; those too close to its ends are moved away from them.

    >>> to_scale(np.array([0.5, 0.0]), "logit").round(2)
    array([ 0. , -7.6])
    """
    values = np.asarray(values, dtype=np.float64)
    if scale == "log":
        return np.log(np.maximum(values, _LEAST_ERROR))
    if scale == "count":
        return np.log(values + 0.5)
    if scale == "logit":
        share = np.clip(values, _LEAST_SHARE, 1 - _LEAST_SHARE)
        return np.log(share / (1 - share))
    if scale == "atanh":
        return np.arctanh(np.clip(values, -_MOST_CORRELATION, _MOST_CORRELATION))
    return values


def from_scale(values: Floats, scale: Scale) -> Floats:
    """Invert `to_scale`.

    >>> from_scale(to_scale(np.array([0.25]), "logit"), "logit")
    array([0.25])
    """
    values = np.asarray(values, dtype=np.float64)
    if scale == "log":
        return np.exp(values)
    if scale == "count":
        return np.maximum(np.exp(values) - 0.5, 0.0)
    if scale == "logit":
        return 1 / (1 + np.exp(-values))
    return np.tanh(values) if scale == "atanh" else values
