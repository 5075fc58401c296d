"""w-event accounting: what any window of consecutive timestamps has spent. Pure arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from psgraph.errors import BudgetError, BudgetExceeded
from psgraph.privacy.guarantee import WEventPrivacy

__all__ = ["Accountant"]


@dataclass(frozen=True)
class Accountant:
    """The spends of the last w timestamps under a guarantee; recording gives a new accountant.

    Every window that contains the next timestamp consists of it and at most w − 1 timestamps
    before it (those after it check themselves when they come), so the last w − 1 spends are
    all that must be remembered. Proof: proofs/w-event-composition.md.

    Examples
    --------
    >>> accountant = Accountant(WEventPrivacy("1", window=2)).record(Fraction(1, 4))
    >>> accountant.remaining, accountant.window_spent
    (Fraction(3, 4), Fraction(1, 4))
    """

    guarantee: WEventPrivacy
    recent: tuple[Fraction, ...] = ()
    timestamps: int = 0

    @property
    def window_spent(self) -> Fraction:
        """What the window that ends with the latest timestamp has spent."""
        return sum(self.recent, start=Fraction(0))

    @property
    def remaining(self) -> Fraction:
        """What the next timestamp may spend at most."""
        before = self.recent[1:] if len(self.recent) == self.guarantee.window else self.recent
        return self.guarantee.epsilon - sum(before, start=Fraction(0))

    def check(self, epsilon: Fraction) -> None:
        """Raise `BudgetExceeded` if the next timestamp can't spend `epsilon`."""
        if epsilon < 0:
            raise BudgetError("a spend can't be negative")
        if epsilon > self.remaining:
            raise BudgetExceeded(
                requested=epsilon, remaining=self.remaining, what=f"timestamp {self.timestamps}"
            )

    def record(self, epsilon: Fraction) -> Accountant:
        """Book the spend of the next timestamp."""
        self.check(epsilon)
        recent = (*self.recent, epsilon)[-self.guarantee.window :]
        return Accountant(self.guarantee, recent, self.timestamps + 1)
