"""Where a service is and how its clients prove who they are, checked before anything is sent."""

from __future__ import annotations

import ipaddress
import ssl
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from psgraph.errors import InvalidArgument

__all__ = ["checked_address", "checked_token", "tls_context"]


def checked_address(address: str) -> SplitResult:
    """Split an address; refuse one that would send the token unencrypted."""
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        usable = None
    if not usable or parts.query or parts.fragment or "@" in parts.netloc:
        raise InvalidArgument(
            "the address of the service is https://host:port, without a user, query or fragment"
        )
    if parts.scheme == "http" and not _is_this_machine(parts.hostname or ""):
        raise InvalidArgument(
            "http:// would send the token and the data unencrypted\n"
            "Use https://; http:// is accepted for this machine only (127.0.0.1, localhost)."
        )
    return parts


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def checked_token(token: str) -> str:
    """Return a token; refuse one that can't be sent in a header."""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidArgument("the token is not one of psgraph's\nCheck the file it is read from.")
    return token


def tls_context(certificates: Path | None) -> ssl.SSLContext:
    """Return what checks certificates: against those in a file, or those of the system."""
    try:
        return ssl.create_default_context(cafile=certificates)
    except (OSError, ssl.SSLError):
        raise InvalidArgument(f"{certificates} holds no certificates that can be read") from None
