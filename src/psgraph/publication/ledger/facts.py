"""The facts a ledger is begun with: its key and its terms, and the digest its chain starts from."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass

from psgraph.publication.terms import Terms

__all__ = ["Facts"]

_KEY_BYTES = 32


@dataclass(frozen=True)
class Facts:
    """The key of a ledger and its terms, as stored: those of version 0.1.0 keep their bytes."""

    key: bytes
    content: bytes

    @classmethod
    def begin(cls, terms: Terms) -> Facts:
        """Facts of a new ledger, with a fresh key."""
        return cls(os.urandom(_KEY_BYTES), terms.to_bytes())

    @classmethod
    def read(cls, rows: Mapping[str, bytes]) -> Facts:
        """Read the stored rows; a `ValueError` if they are not what `rows` writes."""
        facts = cls(rows.get("key", b""), rows.get("terms", b""))
        if not isinstance(facts.key, bytes) or not isinstance(facts.content, bytes):
            raise ValueError("not facts")
        if rows != facts.rows():
            raise ValueError("not facts")
        return facts

    def rows(self) -> dict[str, bytes]:
        """The rows of the table `facts`."""
        mark = hmac.digest(self.key, b"terms " + self.content, "sha256")
        return {"key": self.key, "terms": self.content, "mark": mark}

    @property
    def terms(self) -> Terms:
        return Terms.from_bytes(self.content)

    @property
    def genesis(self) -> bytes:
        """The digest that the chain of rows starts from."""
        key = hashlib.sha256(b"psgraph key\0" + self.key).digest()
        return hashlib.sha256(b"psgraph ledger\0" + key + self.content).digest()

    def certificate_mark(self, timestamp: int, certificate: bytes) -> bytes:
        """The keyed digest of a certificate's digest."""
        return hmac.digest(self.key, b"certificate %d " % timestamp + certificate, "sha256")
