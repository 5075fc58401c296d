"""What a rehearsal found: a cell for each choice of method, w and ε."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.promise import Promise
from psgraph.trust.rehearsal.template import Shape

__all__ = ["Cell", "Rehearsal", "Values"]

Values = Mapping[str, float]
"""Metrics by name."""


@dataclass(frozen=True)
class Cell:
    """One choice of method, w and ε, and how good its releases were in each repetition.

    Attributes
    ----------
    promise
        What releases of this choice would promise.
    runs
        The metrics of each repetition, averaged over time.
    """

    method: str
    guarantee: WEventPrivacy
    promise: Promise
    runs: tuple[Values, ...]

    def mean(self, metric: str) -> float | None:
        """The mean over repetitions; None if the metric has no value on this stream."""
        values = self._values(metric)
        return float(np.mean(values)) if values else None

    def spread(self, metric: str) -> float | None:
        """The standard deviation over repetitions; None if fewer than two have a value."""
        values = self._values(metric)
        return float(np.std(values, ddof=1)) if len(values) > 1 else None

    def _values(self, metric: str) -> list[float]:
        return [run[metric] for run in self.runs if metric in run]

    def to_dict(self) -> dict[str, Any]:
        names = list(dict.fromkeys(name for run in self.runs for name in run))
        return {
            "method": self.method,
            **self.guarantee.to_dict(),
            "private": self.promise.kept,
            "repetitions": len(self.runs),
            "mean": {name: self.mean(name) for name in names},
            "spread": {name: self.spread(name) for name in names},
        }


@dataclass(frozen=True)
class Rehearsal:
    """What a rehearsal found.

    Attributes
    ----------
    like
        The public stream it was made from, as it was named.
    template, shape
        What that stream looks like, and what it looked like after resizing.
    cells
        The choices with at least one finished repetition, in the order of w, ε and method.
    unfinished
        The choices that time did not suffice for.
    repetitions
        How many were asked for; cells may have fewer if time was limited.
    """

    like: str
    template: Shape
    shape: Shape
    cells: tuple[Cell, ...]
    unfinished: tuple[tuple[str, WEventPrivacy], ...]
    repetitions: int
    seed: int

    @property
    def windows(self) -> tuple[int, ...]:
        return tuple(sorted({cell.guarantee.window for cell in self.cells}))

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.method for cell in self.cells))

    def of(self, window: int, method: str | None = None) -> list[Cell]:
        """The cells of a window, ε ascending, of one method or of all."""
        return [
            cell
            for cell in self.cells
            if cell.guarantee.window == window and method in (None, cell.method)
        ]

    def to_dict(self) -> dict[str, Any]:
        return {
            "like": self.like,
            "private_data_read": False,
            "seed": self.seed,
            "repetitions": self.repetitions,
            "template": self.template.to_dict(),
            "stream": self.shape.to_dict(),
            "cells": [cell.to_dict() for cell in self.cells],
            "unfinished": [
                {"method": method, **guarantee.to_dict()} for method, guarantee in self.unfinished
            ],
        }
