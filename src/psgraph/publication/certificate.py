"""The certificate of a release: what was promised and what was spent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from psgraph.errors import UnknownKind, VerificationFailed, exact_decimal
from psgraph.graph import SyntheticGraph
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.graph.left_out import published_as
from psgraph.methods.base import Caveat
from psgraph.privacy.budget import Charge
from psgraph.privacy.guarantee import WEventPrivacy, exact_fraction
from psgraph.publication.terms import Promise

__all__ = ["Certificate", "Release"]


@dataclass(frozen=True)
class Certificate:
    """What was promised and spent, to be published beside the graph.

    It holds public facts and noisy values only.

    Attributes
    ----------
    roster
        What the publisher declared about the nodes, in a sentence.
    noise
        The sampler: "exact" or "opendp". Version 0.1.0 did not state it.
    times
        Where the times of the stream come from, if the stream said so.
    previous
        The digest of the certificate before it; None at the first timestamp.
    graph_sha256, nodes_sha256
        The digests of the published files: the graph, and the list of its nodes. None if nothing
        is recorded; version 0.1.0 wrote no node lists.
    kind
        The kind of the graph: undirected without weights unless stated.
    dropped
        What edges have in the input and not in the releases: "direction", "weights".
    graph_part_nodes
        If the graph is not one file but a directory of parts: how many nodes each is for. Then
        `graph_sha256` is `psgraph.publication.graph_files.digest_of_parts`.
    """

    timestamp: int
    time: str | None
    guarantee: WEventPrivacy
    charges: tuple[Charge, ...]
    spent: Fraction
    window_spent: Fraction
    method: str
    version: str
    parameters: Mapping[str, Any]
    roster: str
    nodes: int
    edges: int
    private: bool
    summary: Mapping[str, Any] = field(default_factory=dict)
    caveat: Caveat | None = None
    previous: str | None = None
    graph_sha256: str | None = None
    nodes_sha256: str | None = None
    noise: str | None = None
    times: str | None = None
    graph_part_nodes: int | None = None
    kind: Kind = UNDIRECTED
    dropped: tuple[str, ...] = ()

    @property
    def published_as(self) -> str | None:
        """What is said where the releases leave out something that the input has."""
        return published_as(self.dropped)

    @property
    def graph_parts(self) -> int | None:
        """The number of parts the graph is published in; None if it is one file."""
        size = self.graph_part_nodes
        return None if size is None else -(-self.nodes // size)

    @property
    def promise(self) -> Promise:
        """What is promised of this release, which may be less than the guarantee."""
        provides_any = self.caveat is None or self.caveat.factor is not None
        return Promise(self.guarantee, self.caveat, seeded=provides_any and not self.private)

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain values, exact numbers as text."""
        return {
            **self.promise.to_dict(),
            **self.guarantee.to_dict(),
            "timestamp": self.timestamp,
            "time": self.time,
            "spent": {
                "timestamp": exact_decimal(self.spent),
                "window": exact_decimal(self.window_spent),
                "mechanisms": [charge.to_dict() for charge in self.charges],
            },
            "method": self.method,
            "parameters": dict(self.parameters),
            "version": self.version,
            **_stated("noise", self.noise),
            **_stated("times", self.times),
            **self.kind.to_dict(),
            **({"dropped": list(self.dropped)} if self.dropped else {}),
            **_stated("published_as", self.published_as),
            "roster": self.roster,
            "nodes": self.nodes,
            "edges": self.edges,
            "summary": dict(self.summary),
            **({"caveat": _caveat_to_dict(self.caveat)} if self.caveat else {}),
            "previous": self.previous,
            "graph_sha256": self.graph_sha256,
            **_stated("graph_part_nodes", self.graph_part_nodes),
            **_stated("nodes_sha256", self.nodes_sha256),
        }

    @cached_property
    def _content(self) -> dict[str, Any]:
        return self.to_dict()

    @cached_property
    def digest(self) -> str:
        """SHA-256 over everything else in the certificate; the next one refers to it."""
        text = json.dumps(self._content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def _repr_html_(self) -> str | None:
        from psgraph.publication.cards import certificate_card

        return certificate_card(self)

    def is_another_draw(self, other: Certificate) -> bool:
        """Whether two certificates of one timestamp show that it was measured twice.

        What depends on the noise is compared, and what it was drawn for. Two draws can agree in
        all of it, so False proves nothing.
        """
        return (
            self.charges != other.charges
            or self.spent != other.spent
            or dict(self.summary) != dict(other.summary)
            or self.previous != other.previous
        )

    def to_json(self) -> str:
        """The certificate as it is written to a file."""
        content = {**self._content, "digest": self.digest}
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Certificate:
        """Read a certificate back; refuse one of which any byte was changed."""
        try:
            content = json.loads(text)
            spent, caveat = content["spent"], content.get("caveat")
            certificate = cls(
                timestamp=content["timestamp"],
                time=content["time"],
                guarantee=WEventPrivacy.from_dict(content),
                charges=tuple(Charge.from_dict(charge) for charge in spent["mechanisms"]),
                spent=exact_fraction(spent["timestamp"]),
                window_spent=exact_fraction(spent["window"]),
                method=content["method"],
                version=content["version"],
                parameters=content["parameters"],
                roster=content["roster"],
                nodes=content["nodes"],
                edges=content["edges"],
                private=content["private"],
                summary=content["summary"],
                caveat=None if caveat is None else _caveat_from_dict(caveat),
                previous=content["previous"],
                graph_sha256=content["graph_sha256"],
                nodes_sha256=content.get("nodes_sha256"),
                noise=content.get("noise"),
                times=content.get("times"),
                graph_part_nodes=_part_nodes(content),
                kind=Kind.from_dict(content),
                dropped=tuple(content.get("dropped", ())),
            )
            unchanged = certificate.to_json().encode() == (
                text if isinstance(text, bytes) else text.encode()
            )
        except UnknownKind:
            raise
        except (
            AttributeError,
            KeyError,
            OverflowError,
            RecursionError,
            TypeError,
            ValueError,
            ZeroDivisionError,
        ):
            unchanged = False
        if not unchanged:
            raise VerificationFailed(
                "a certificate was changed, or is not one of psgraph's", code="changed"
            )
        return certificate


def _stated(name: str, value: str | int | None) -> dict[str, str | int]:
    """A fact that not every certificate states; without it nothing is written."""
    return {} if value is None else {name: value}


def _part_nodes(content: Mapping[str, Any]) -> int | None:
    """The nodes of a part; a graph of one part is a file, and nothing is stated."""
    size: int | None = content.get("graph_part_nodes")
    if size is not None and (type(size) is not int or not 1 <= size < content["nodes"]):
        raise ValueError
    return size


def _caveat_to_dict(caveat: Caveat) -> dict[str, Any]:
    factor = None if caveat.factor is None else exact_decimal(caveat.factor)
    return {"factor": factor, "text": caveat.text}


def _caveat_from_dict(content: Mapping[str, Any]) -> Caveat:
    factor = content["factor"]
    return Caveat(None if factor is None else exact_fraction(factor), content["text"])


@dataclass(frozen=True)
class Release:
    """The synthetic graph of one timestamp with its certificate."""

    graph: SyntheticGraph
    certificate: Certificate

    @property
    def timestamp(self) -> int:
        """Its number in the stream, from 0."""
        return self.certificate.timestamp

    def _repr_html_(self) -> str | None:
        from psgraph.publication.cards import release_card

        return release_card(self)
