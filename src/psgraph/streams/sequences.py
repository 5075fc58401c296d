"""Which file name comes after which: dates with a step, or consecutive integers.

File names are public. They say which timestamps there are, so a name that is missing between two
others can be waited for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

import numpy as np

from psgraph.errors import TermsChanged
from psgraph.streams.periods import Period
from psgraph.streams.times import MOST_EMPTY

__all__ = ["FileSequence", "regular_step", "step_of_names"]

_DATE = re.compile(r"(?P<year>\d{4})(?P<mark>[-_.]?)(?P<month>\d\d)((?P=mark)(?P<day>\d\d))?(?!\d)")
_INTEGER = re.compile(r"\d+(?=\D*$)", re.ASCII)
_DAY = 86_400_000_000
_STEPS = {"1d": (1, 1), "1w": (7, 7), "1mo": (28, 31), "1y": (365, 366)}


@dataclass(frozen=True)
class _Name:
    """A file name and the date or integer in it."""

    before: str
    value: int
    after: str
    form: str  # of a date in `strftime`; empty for an integer
    width: int = 0

    @classmethod
    def parse(cls, text: str) -> _Name | None:
        for found in _DATE.finditer(text):
            mark, day = found["mark"], found["day"]
            alone = not text[: found.start()][-1:].isdigit()
            if not alone or (not mark and day is None):
                continue  # 202401 is an integer
            try:
                value = date(int(found["year"]), int(found["month"]), int(day or 1))
            except ValueError:
                continue
            form = mark.join(["%Y", "%m", "%d"][: 2 if day is None else 3])
            before, after = text[: found.start()], text[found.end() :]
            return cls(before, value.toordinal(), after, form)
        if number := _INTEGER.search(text):
            width = len(number[0]) if number[0].startswith("0") else 0
            return cls(text[: number.start()], int(number[0]), text[number.end() :], "", width)
        return None

    def __str__(self) -> str:
        shown = (
            date.fromordinal(self.value).strftime(self.form)
            if self.form
            else str(self.value).rjust(self.width, "0")
        )
        return f"{self.before}{shown}{self.after}"

    def like(self, other: _Name) -> bool:
        """Whether two names differ in their date or integer only."""
        return (self.before, self.after, self.form) == (other.before, other.after, other.form)

    def number(self, step: Period | None) -> int:
        """Return the number of the period of a date, or the integer."""
        if not self.form or step is None:
            return self.value
        moment = (self.value - date(1970, 1, 1).toordinal()) * _DAY
        return int(step.numbers(np.array([moment]))[0])

    def at(self, number: int, step: Period | None) -> str:
        """Return the name for another number; a date is the first day of its period."""
        if not self.form or step is None:
            return str(replace(self, value=number))
        return str(replace(self, value=date.fromisoformat(step.start(number)[:10]).toordinal()))


def step_of_names(names: Iterable[str]) -> Period | None:
    """Return the step between dates in file names: a day, a week, a month or a year.

    >>> str(step_of_names(["calls-2024-01", "calls-2024-02"])), step_of_names(["day1", "day2"])
    ('1mo', None)
    """
    parsed = [_Name.parse(name) for name in names]
    found = []
    for one, other in pairwise(parsed):
        if one is not None and other is not None and one.form and one.like(other):
            days = other.value - one.value
            same_day = _day(one) == _day(other)
            for index, (text, (low, high)) in enumerate(_STEPS.items()):
                if low <= days <= high and (same_day or text in ("1d", "1w")):
                    found.append((index, text))
    return Period.parse(min(found)[1]) if found else None


def regular_step(names: Sequence[str]) -> Period | None:
    """Return the step between dates in file names if none is missing between them.

    >>> str(regular_step(["2024-01-01", "2024-01-02"])), regular_step(["1-2", "2-2", "2024-01-04"])
    ('1d', None)
    """
    step = step_of_names(names)
    if step is None:
        return None
    parsed = [_Name.parse(name) for name in names]
    numbers = [0 if each is None else each.number(step) for each in parsed]
    return step if all(other - one == 1 for one, other in pairwise(numbers)) else None


def _day(name: _Name) -> int:
    return date.fromordinal(name.value).day


class FileSequence:
    """The order of file names that are dates or integers; other names have none.

    Parameters
    ----------
    every
        The declared period of dates; without it the step is recognised from the names.

    Examples
    --------
    >>> FileSequence(None).missing(["day1", "day2"], "day5")
    ['day3', 'day4']
    >>> FileSequence(Period.parse("1d")).missing(["2024-02-28"], "2024-03-01")
    ['2024-02-29']
    """

    def __init__(self, every: Period | None) -> None:
        self.every = every

    def missing(self, before: Sequence[str], name: str) -> list[str]:
        """Return the names between the last of `before` and `name`.

        Raises
        ------
        TermsChanged
            The name has a different form than those before, or the step differs.
        """
        last, new = (_Name.parse(before[-1]) if before else None), _Name.parse(name)
        if last is None:
            return []
        if new is None or not new.like(last):
            raise TermsChanged(
                f"the name {name!r} does not continue names such as {before[-1]!r}\n"
                "Deliver files under names of one form, or start a new ledger for them."
            )
        step = self.step(before, name) if new.form else None
        first, final = last.number(step), new.number(step)
        if final <= first:
            raise TermsChanged(
                f"{name!r} and {before[-1]!r} are less than a period of {step} apart\n"
                "A window is counted in timestamps, so shorter steps would shorten it. Deliver one "
                "file per period, or start a new ledger.",
                code="shorter_step",
            )
        if final - first > MOST_EMPTY:
            raise TermsChanged(
                f"{name!r} comes more than {MOST_EMPTY:,} names after {before[-1]!r}\n"
                "Check the name."
            )
        return [last.at(number, step) for number in range(first + 1, final)]

    def check(self, names: Sequence[str]) -> None:
        """Refuse a declared period that is not the step between names of earlier files."""
        found = step_of_names(names)
        if self.every is not None and found is not None and str(found) != str(self.every):
            raise TermsChanged(
                f"the files published so far are {found.words()} apart, not {self.every.words()}\n"
                "That changes how long a window is. Continue as before, or start a new ledger.",
                code="other_step",
            )

    def step(self, before: Sequence[str], name: str) -> Period:
        """Return the step between dates, by the names before if they show it; never guess it."""
        found = self.every or step_of_names(before) or step_of_names([before[-1], name])
        if found is None:
            raise TermsChanged(
                f"the step from {before[-1]!r} to {name!r} is not a day, a week, a month or a "
                "year\nDeclare the period of the files: every='2d' (--every 2d), or say that "
                "names need not be regular: missing='skip' (--missing skip).",
                code="irregular_step",
            )
        return found

    def over(self, name: str) -> bool:
        """Whether the declared period of a name has passed."""
        parsed = _Name.parse(name)
        if self.every is None or parsed is None or not parsed.form:
            return True
        present = int(self.every.numbers(np.array([self.every.present()]))[0])
        return parsed.number(self.every) < present
