"""The durable record of a stream."""

from psgraph.publication.ledger.store import Ledger

__all__ = ["Ledger"]
