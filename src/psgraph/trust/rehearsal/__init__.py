"""Rehearsals: what quality to expect of each ε, w and method, before anything private is read."""

from __future__ import annotations

from psgraph.trust.rehearsal.trial import Cell, Rehearsal, rehearse

__all__ = ["Cell", "Rehearsal", "rehearse"]
