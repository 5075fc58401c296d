"""The durable record of a stream."""

from psgraph.publication.ledger.store import Ledger
from psgraph.publication.ledger.terms import Seal, Terms

__all__ = ["Ledger", "Seal", "Terms"]
