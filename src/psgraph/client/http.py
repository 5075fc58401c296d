"""Requests over HTTP: streamed both ways, and repeated a few times where that is harmless."""

from __future__ import annotations

import hashlib
import http.client
import json
import random
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from urllib.parse import SplitResult, urlsplit

from psgraph._runtime.loopback import is_loopback
from psgraph._version import __version__
from psgraph.errors import (
    AccessDenied,
    DataError,
    InvalidArgument,
    OutputError,
    PsgraphError,
    ServiceError,
)

__all__ = ["Http"]

Result = TypeVar("Result")
Response = http.client.HTTPResponse

_PIECE = 1 << 18
_ATTEMPTS = 5
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 30.0
_LONGEST_MESSAGE = 2000
_LONGEST_JSON = 64 << 20
_BUSY = {429, 502, 503, 504}


class Http:
    """An HTTP server, as one token sees it.

    Parameters
    ----------
    address
        ``https://host:port``. Without TLS only this machine is accepted: a token and private
        edges would cross the network unencrypted.
    token
        Sent as a bearer token if given. It is never part of an address or a message.
    certificates
        A file with the certificates to trust; by default those of the system.
    timeout
        Seconds to wait for the server to continue.

    Redirects are not followed, because they could send the token elsewhere.
    """

    def __init__(
        self,
        address: str,
        *,
        token: str | None = None,
        certificates: Path | None = None,
        timeout: float = 60.0,
    ) -> None:
        parts = _checked_address(address)
        self._host, self._port = parts.hostname or "", parts.port
        self._prefix = parts.path.rstrip("/")
        self._timeout = timeout
        self._tls = _tls_context(certificates) if parts.scheme == "https" else None
        self._headers = {"User-Agent": f"psgraph/{__version__}", "Accept-Encoding": "identity"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {_checked_token(token)}"

    def json(
        self,
        method: str,
        path: str,
        *,
        body: bytes | Path | None = None,
        headers: Mapping[str, str] | None = None,
        repeat: bool = False,
    ) -> Any:
        """Send bytes, the content of a file or nothing; return the JSON of the response."""
        return self._request(method, path, _json_of, body, headers or {}, repeat=repeat)

    def content(self, path: str) -> bytes:
        """Return the content of a response."""
        return self._request("GET", path, lambda response: response.read(_LONGEST_JSON))

    def download(self, path: str, target: Path) -> str:
        """Stream a response into the file `target` and return its SHA-256."""
        return self._request("GET", path, lambda response: _save(response, target))

    def _request(
        self,
        method: str,
        path: str,
        read: Callable[[Response], Result],
        body: bytes | Path | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        repeat: bool = False,
    ) -> Result:
        """Send a request and return what `read` makes of its response; raise a refusal.

        A GET is repeated if the connection fails or the server is busy. So are requests with
        `repeat`, which the server handles once however often they arrive.
        """
        attempts = _ATTEMPTS if repeat or method == "GET" else 1
        for attempt in range(attempts):
            last = attempt == attempts - 1
            connection = self._connection()
            try:
                response = self._send(connection, method, path, body, headers or {})
                if response.status not in _BUSY or last:
                    if response.status >= 300:
                        raise _refusal(response)
                    return read(response)
                pause = _pause(attempt, response.headers.get("Retry-After"))
            except PsgraphError:
                raise
            except (OSError, http.client.HTTPException) as error:
                if last or isinstance(error, ssl.SSLCertVerificationError):
                    raise self._unreachable(error) from None
                pause = _pause(attempt)
            finally:
                connection.close()
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _connection(self) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=self._timeout, context=self._tls
        )

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | Path | None,
        headers: Mapping[str, str],
    ) -> Response:
        """Send a request; read the response even if the server refuses before reading all of it."""
        everything = {**self._headers, **headers}
        if isinstance(body, Path):
            everything["Content-Length"] = str(_size(body))
        with _opened(body) if isinstance(body, Path) else nullcontext(body) as content:
            connection.connect()
            with suppress(BrokenPipeError, ConnectionResetError):  # the response has the reason
                connection.request(method, self._prefix + path, content, everything)
            return connection.getresponse()

    def _unreachable(self, error: Exception) -> ServiceError:
        where = self._host if self._port is None else f"{self._host}:{self._port}"
        if isinstance(error, ssl.SSLError):
            return ServiceError(
                f"the certificate of {where} is not trusted here ({_reason(error)})\n"
                "Name the file of its certificate authority (--ca-file), or check the address.",
                code="untrusted",
            )
        return ServiceError(
            f"{where} can't be reached ({_reason(error)})\n"
            "Check the address and the network, then run the same command again.",
            code="unreachable",
        )


def _checked_address(address: str) -> SplitResult:
    """Split an address; refuse one to which the token would be sent unencrypted."""
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        usable = None
    if not usable or parts.query or parts.fragment or "@" in parts.netloc:
        raise InvalidArgument(
            "the address of a service is https://host:port, without a user, query or fragment"
        )
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise InvalidArgument(
            "http:// would send the token and the data unencrypted\n"
            "Use https://; http:// is accepted for this machine only (127.0.0.1, localhost)."
        )
    return parts


def _checked_token(token: str) -> str:
    """Return a token; refuse one that can't be sent in a header."""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidArgument("this is not a token of psgraph\nCheck the file it comes from.")
    return token


def _tls_context(certificates: Path | None) -> ssl.SSLContext:
    """Return a TLS context that trusts the certificates in a file, or those of the system."""
    try:
        return ssl.create_default_context(cafile=certificates)
    except (OSError, ssl.SSLError):
        raise InvalidArgument(f"{certificates} contains no readable certificates") from None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise _unreadable(path, error) from None


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(f"{path} can't be read: {error.strerror}\nCheck its name and permissions.")


def _json_of(response: Response) -> Any:
    content = response.read(_LONGEST_JSON)
    try:
        return json.loads(content) if content else None
    except ValueError:
        raise ServiceError(
            "the response is not JSON, so there is no psgraph service here\nCheck the address.",
            status=response.status,
        ) from None


def _save(response: Response, target: Path) -> str:
    """Stream a response to a file; one that is too short means an interrupted connection."""
    digest = hashlib.sha256()
    missing = response.length
    with _writing(target) as file:
        while piece := response.read(_PIECE):
            digest.update(piece)
            missing = None if missing is None else missing - len(piece)
            try:
                file.write(piece)
            except OSError as error:
                raise _no_space(target, error) from None
    if missing:
        raise http.client.IncompleteRead(b"", missing)
    return digest.hexdigest()


def _writing(target: Path) -> BinaryIO:
    try:
        return target.open("wb")
    except OSError as error:
        raise _no_space(target, error) from None


def _no_space(target: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{target} can't be written: {error.strerror}\n"
        "Free some space or make the directory writable, then run the same command again."
    )


def _refusal(response: Response) -> ServiceError:
    """Return the error for a refused request, with what the server wrote, made harmless."""
    status = response.status
    try:
        told = json.loads(response.read(_LONGEST_MESSAGE * 4))
        code, words = str(told["error"]), [str(told["message"]), str(told.get("remedy") or "")]
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
        code, words = "", [f"the service answered {status} {response.reason}", ""]
    text = "\n".join(_harmless(part) for part in words if part)
    kind = AccessDenied if status in (401, 403) else ServiceError
    return kind(text, status=status, code=_harmless(code))


def _harmless(text: str) -> str:
    """Replace characters that could control a terminal."""
    shown = "".join(each if each.isprintable() or each == "\n" else "�" for each in text)
    return shown[:_LONGEST_MESSAGE]


def _reason(error: Exception) -> str:
    return _harmless(getattr(error, "strerror", None) or type(error).__name__)


def _pause(attempt: int, wanted: str | None = None) -> float:
    """Return the seconds before the next attempt: as the server says, or doubled each time."""
    if wanted is not None and wanted.isdecimal():
        return min(float(wanted), _LONGEST_PAUSE)
    doubled: float = _FIRST_PAUSE * 2**attempt
    return min(doubled, _LONGEST_PAUSE) * random.uniform(0.5, 1.0)
