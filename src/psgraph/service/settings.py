"""The settings of a service: where it keeps its files, where it listens, and its limits."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from psgraph._runtime.loopback import is_loopback
from psgraph.errors import InvalidArgument

__all__ = ["Limits", "Settings"]

MEBIBYTE = 1 << 20
_SCHEMES = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class Limits:
    """Limits of a single request, token or address.

    Attributes
    ----------
    upload_bytes
        Size of an upload, both as sent and decompressed.
    upload_rows, upload_seconds
        Rows in an upload, and the time to send it.
    body_bytes, body_seconds
        Size of any other request, and the time to send its body.
    connections
        Connections at the same time.
    requests_per_second, burst
        Per token, and per address for requests without one.
    failures_per_minute
        Wrong tokens per address.
    concurrent_uploads
        Uploads received at the same time; half of them by one token.
    upload_memory
        Bytes of memory to read uploads, of all that are read at the same time.
    """

    upload_bytes: int = 256 * MEBIBYTE
    upload_rows: int = 10_000_000
    upload_seconds: float = 300.0
    body_bytes: int = MEBIBYTE
    body_seconds: float = 20.0
    connections: int = 1000
    requests_per_second: float = 100.0
    burst: int = 500
    failures_per_minute: int = 30
    concurrent_uploads: int = 16
    upload_memory: int = 1536 * MEBIBYTE

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value <= 0:
                raise InvalidArgument(f"{name} must be greater than 0, not {value}")


@dataclass(frozen=True)
class Settings:
    """The settings of one service.

    Attributes
    ----------
    directory
        Contains all files of the service; only its owner can open it.
    hostnames
        Host names that requests may use, besides those of the loopback address.
    behind_proxy
        Whether a proxy terminates TLS and sends ``X-Forwarded-For``.
    proxy_addresses
        Addresses or networks of proxies, besides loopback. Any client could send
        ``X-Forwarded-For``; only these are believed.
    session_minutes
        How long a browser stays signed in.
    part
        What this process does: all, or one part of a service that several processes run.
    database
        The address of a PostgreSQL database; by default the database is a file in `directory`.
    releases
        An address that fsspec knows. Workers copy releases there, and readers show them from there.
    """

    directory: Path
    host: str = "127.0.0.1"
    port: int = 8765
    tls_cert: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False
    proxy_addresses: tuple[str, ...] = ()
    hostnames: tuple[str, ...] = ()
    session_minutes: float = 60.0
    limits: Limits = Limits()
    part: Literal["all", "web", "worker", "reader"] = "all"
    database: str | None = field(default=None, repr=False)  # may contain a password
    releases: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise InvalidArgument(
                "a TLS certificate needs its key, and a key its certificate\n"
                "Give both --tls-cert and --tls-key."
            )
        if not is_loopback(self.host) and not self.encrypted:
            raise InvalidArgument(
                f"{self.host} is not a loopback address, and tokens would be sent unencrypted\n"
                "Give --tls-cert and --tls-key, or --behind-proxy if a proxy handles TLS."
            )
        for address in self.proxy_addresses:
            if not self.behind_proxy or not _is_network(address):
                raise InvalidArgument(
                    f"{address!r} can't be used as the address of a proxy\n"
                    "Give an address or a network, such as 10.0.0.5 or 10.0.0.0/28, and "
                    "--behind-proxy."
                )
        if self.database is not None and not self.database.startswith(_SCHEMES):
            raise InvalidArgument(
                "the address of the database is not one of PostgreSQL\n"
                "Give one such as postgresql://user@host/name."
            )
        if self.reads_only and (self.database is None or self.releases is None):
            raise InvalidArgument(
                "a process that only shows releases needs a database and an address to read from\n"
                "Give --database and --releases."
            )
        if self.session_minutes <= 0:
            raise InvalidArgument("session_minutes must be greater than 0")

    @property
    def reads_only(self) -> bool:
        """Whether this process only shows releases, and has no private data."""
        return self.part == "reader"

    @property
    def publishes(self) -> bool:
        """Whether this process publishes."""
        return self.part in ("all", "worker")

    @property
    def encrypted(self) -> bool:
        """Whether clients connect with TLS."""
        return self.tls_cert is not None or self.behind_proxy

    @property
    def proxies(self) -> tuple[str, ...]:
        """The addresses whose ``X-Forwarded-For`` is believed."""
        return ("127.0.0.1", "::1", *self.proxy_addresses)

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """The accepted names in the header ``Host``, in lower case."""
        named = {"localhost", "127.0.0.1", "[::1]", *(name.lower() for name in self.hostnames)}
        return frozenset(named | {self.host.lower()})


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return True
