"""What a stream has spent, as a value to look at."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from psgraph.errors import exact_decimal
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy

__all__ = ["Spending"]


@dataclass(frozen=True, repr=False)
class Spending:
    """Spent and available ε in the current window, exact.

    Attributes
    ----------
    guarantee
        The promise that limits it.
    timestamps
        How many timestamps are published.
    spends
        The spends of the current window (the last w timestamps), oldest first.
    spent
        Their sum.
    remaining
        What the next timestamp can spend at most. The oldest spend of a full window leaves the
        window then, so this can be more than ε minus `spent`.

    Examples
    --------
    >>> accountant = Accountant(WEventPrivacy("1", window=2))
    >>> Spending.of(accountant)
    Spending(nothing spent, 1 available for timestamp 0)
    >>> accountant = accountant.record(Fraction(1, 4))
    >>> Spending.of(accountant.record(Fraction(1, 2)))
    Spending(0.75 of 1 spent in timestamps 0 to 1, 0.5 available for timestamp 2)
    """

    guarantee: WEventPrivacy
    timestamps: int
    spends: tuple[Fraction, ...]
    spent: Fraction
    remaining: Fraction

    @classmethod
    def of(cls, accountant: Accountant) -> Spending:
        """Read an accountant."""
        return cls(
            guarantee=accountant.guarantee,
            timestamps=accountant.timestamps,
            spends=accountant.recent,
            spent=accountant.window_spent,
            remaining=accountant.remaining,
        )

    @property
    def window(self) -> str:
        """The timestamps of the current window in words."""
        last = self.timestamps - 1
        if not self.spends:
            return "before the first timestamp"
        first = self.timestamps - len(self.spends)
        return f"timestamp {last}" if first == last else f"timestamps {first} to {last}"

    def _repr_html_(self) -> str | None:
        from psgraph.publication.cards import spending_card

        return spending_card(self)

    def __repr__(self) -> str:
        spent, epsilon = exact_decimal(self.spent), exact_decimal(self.guarantee.epsilon)
        so_far = f"{spent} of {epsilon} spent in {self.window}" if self.spends else "nothing spent"
        available = f"{exact_decimal(self.remaining)} available for timestamp {self.timestamps}"
        return f"Spending({so_far}, {available})"
