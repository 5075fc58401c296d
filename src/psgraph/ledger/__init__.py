"""The durable record of a stream."""

from psgraph.ledger.store import Ledger
from psgraph.ledger.terms import Seal, Terms

__all__ = ["Ledger", "Seal", "Terms"]
