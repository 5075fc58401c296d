"""Requests over HTTP: one connection pool, streamed both ways, repeated where that is harmless.

What the client does is written once, as steps: generators that yield a `Call` and get its `Answer`.
`Http` runs steps, and `AsyncHttp` awaits them.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import ssl
import time
from collections.abc import AsyncIterator, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from urllib.parse import SplitResult, urlsplit

import httpx

from psgraph._runtime.loopback import is_loopback
from psgraph._version import __version__
from psgraph.errors import AccessDenied, DataError, InvalidArgument, OutputError, ServiceError

__all__ = [
    "Answer",
    "AsyncHttp",
    "Call",
    "Http",
    "Pause",
    "Steps",
    "content_of",
    "json_of",
    "saved",
]

_PIECE = 1 << 18
_ATTEMPTS = 5
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 30.0
_LONGEST_MESSAGE = 2000
_LONGEST_JSON = 64 << 20
_BUSY = {429, 502, 503, 504}
_KEPT = 4.0  # seconds: shorter than servers keep a connection that is not used


@dataclass(frozen=True)
class Call:
    """A request.

    Attributes
    ----------
    body
        Bytes, or a file whose content is sent.
    repeat
        Whether the server handles it once, however often it arrives, as it does a GET.
    to
        A file for the content of the answer.
    most
        The most bytes of an answer that is not written to a file.
    """

    method: str
    path: str
    body: bytes | Path | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeat: bool = False
    to: Path | None = None
    most: int = _LONGEST_JSON


@dataclass(frozen=True)
class Answer:
    """What the server answered; the SHA-256 of the content if it went to a file."""

    status: int
    reason: str
    headers: Mapping[str, str]
    content: bytes = b""
    sha256: str = ""


@dataclass(frozen=True)
class Pause:
    """A pause between two requests, in seconds."""

    seconds: float


@dataclass(frozen=True)
class _Lost:
    """No answer."""

    error: Exception


Result = TypeVar("Result")
Steps = Generator[Call | Pause, Any, Result]


# ---- steps that all others consist of ----


def content_of(call: Call) -> Steps[bytes]:
    """Return the content of an answer."""
    return (yield from _answered(call)).content


def saved(call: Call) -> Steps[str]:
    """Stream an answer into the file of a call; return its SHA-256."""
    return (yield from _answered(call)).sha256


def json_of(call: Call) -> Steps[Any]:
    """Return the JSON of an answer."""
    answer = yield from _answered(call)
    try:
        return json.loads(answer.content) if answer.content else None
    except ValueError:
        raise ServiceError(
            "the response is not JSON, so there is no psgraph service here\nCheck the address.",
            status=answer.status,
        ) from None


def _answered(call: Call) -> Steps[Answer]:
    """Send a request, a few times if it can be repeated; raise a refusal."""
    attempts = _ATTEMPTS if call.repeat or call.method == "GET" else 1
    for attempt in range(attempts):
        last = attempt == attempts - 1
        answer: Answer | _Lost = yield call
        if isinstance(answer, _Lost):
            if last or _untrusted(answer.error) is not None:
                raise _unreachable(answer.error) from None
            yield Pause(_pause(attempt))
        elif answer.status in _BUSY and not last:
            yield Pause(_pause(attempt, answer.headers.get("Retry-After")))
        elif answer.status >= 300:
            raise _refusal(answer)
        else:
            return answer
    raise AssertionError("the last attempt returns or raises")


# ---- running steps ----


class _Server:
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
        self._address = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        headers = {"User-Agent": f"psgraph/{__version__}", "Accept-Encoding": "identity"}
        if token is not None:
            headers["Authorization"] = f"Bearer {_checked_token(token)}"
        self._options: dict[str, Any] = {
            "headers": headers,
            "timeout": timeout,
            "verify": _tls_context(certificates) if parts.scheme == "https" else True,
            "trust_env": False,
            "limits": httpx.Limits(keepalive_expiry=_KEPT),
        }

    def _request(self, call: Call, content: Any) -> dict[str, Any]:
        headers = dict(call.headers)
        if isinstance(call.body, Path):
            headers["Content-Length"] = str(_size(call.body))
        return {
            "method": call.method,
            "url": self._address + call.path,
            "content": content,
            "headers": headers,
        }


class Http(_Server):
    """A server whose answers are waited for."""

    def __init__(self, address: str, **options: Any) -> None:
        super().__init__(address, **options)
        self._client = httpx.Client(**self._options)

    def run(self, steps: Steps[Result]) -> Result:
        """Run steps; return their result."""
        answer: Any = None
        with closing(steps):
            while True:
                try:
                    step = steps.send(answer)
                except StopIteration as end:
                    result: Result = end.value
                    return result
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                else:
                    answer = self._send(step)

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def _send(self, call: Call) -> Answer | _Lost:
        body = _pieces(call.body) if isinstance(call.body, Path) else call.body
        try:
            with self._client.stream(**self._request(call, body)) as response:
                reader = _Reader(call, response)
                with closing(reader):
                    for piece in response.iter_raw(_PIECE):
                        if not reader.take(piece):
                            break
                return reader.answer()
        except httpx.TransportError as error:
            return _Lost(error)


class AsyncHttp(_Server):
    """A server whose answers are awaited."""

    def __init__(self, address: str, **options: Any) -> None:
        super().__init__(address, **options)
        self._client = httpx.AsyncClient(**self._options)

    async def run(self, steps: Steps[Result]) -> Result:
        """Run steps; return their result."""
        answer: Any = None
        with closing(steps):
            while True:
                try:
                    step = steps.send(answer)
                except StopIteration as end:
                    result: Result = end.value
                    return result
                if isinstance(step, Pause):
                    await asyncio.sleep(step.seconds)
                else:
                    answer = await self._send(step)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def _send(self, call: Call) -> Answer | _Lost:
        body = _async_pieces(call.body) if isinstance(call.body, Path) else call.body
        try:
            async with self._client.stream(**self._request(call, body)) as response:
                reader = _Reader(call, response)
                with closing(reader):
                    async for piece in response.aiter_raw(_PIECE):
                        if not reader.take(piece):
                            break
                return reader.answer()
        except httpx.TransportError as error:
            return _Lost(error)


class _Reader:
    """Takes the content of an answer, into memory or a file."""

    def __init__(self, call: Call, response: httpx.Response) -> None:
        self._response, self._most = response, call.most
        self._to = call.to if response.status_code < 300 else None
        self._file = None if self._to is None else _writing(self._to)
        self._digest, self._content = hashlib.sha256(), bytearray()

    def take(self, piece: bytes) -> bool:
        """Take a piece; return whether more is wanted."""
        if self._file is None:
            self._content += piece
            return len(self._content) <= self._most
        self._digest.update(piece)
        try:
            self._file.write(piece)
        except OSError as error:
            assert self._to is not None
            raise _no_space(self._to, error) from None
        return True

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def answer(self) -> Answer:
        content = bytes(self._content[: self._most])
        status, reason = self._response.status_code, self._response.reason_phrase
        return Answer(status, reason, self._response.headers, content, self._digest.hexdigest())


def _pieces(path: Path) -> Iterator[bytes]:
    with _opened(path) as file:
        while piece := file.read(_PIECE):
            yield piece


async def _async_pieces(path: Path) -> AsyncIterator[bytes]:
    for piece in _pieces(path):
        yield piece


# ---- addresses, tokens and errors ----


def _untrusted(error: BaseException | None) -> ssl.SSLError | None:
    """Return the error about a certificate that caused an error, if one did."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error


def _unreachable(error: Exception) -> ServiceError:
    request = error.request if isinstance(error, httpx.RequestError) else None
    where = "the service" if request is None else request.url.netloc.decode()
    if (untrusted := _untrusted(error)) is not None:
        return ServiceError(
            f"the certificate of {where} is not trusted here ({_reason(untrusted)})\n"
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


def _refusal(answer: Answer) -> ServiceError:
    """Return the error for a refused request, with what the server wrote, made harmless."""
    status = answer.status
    try:
        told = json.loads(answer.content[: _LONGEST_MESSAGE * 4])
        code, words = str(told["error"]), [str(told["message"]), str(told.get("remedy") or "")]
    except (ValueError, KeyError, TypeError):
        code, words = "", [f"the service answered {status} {answer.reason}", ""]
    text = "\n".join(_harmless(part) for part in words if part)
    kind = AccessDenied if status in (401, 403) else ServiceError
    return kind(text, status=status, code=_harmless(code))


def _harmless(text: str) -> str:
    """Replace characters that could control a terminal."""
    shown = "".join(each if each.isprintable() or each == "\n" else "�" for each in text)
    return shown[:_LONGEST_MESSAGE]


def _reason(error: BaseException) -> str:
    """Return what the system said was wrong: httpx wraps its errors."""
    while error.__context__ is not None and not isinstance(error, OSError):
        error = error.__context__
    return _harmless(getattr(error, "strerror", None) or type(error).__name__)


def _pause(attempt: int, wanted: str | None = None) -> float:
    """Return the seconds before the next attempt: as the server says, or doubled each time."""
    if wanted is not None and wanted.isdecimal():
        return min(float(wanted), _LONGEST_PAUSE)
    doubled: float = _FIRST_PAUSE * 2**attempt
    return min(doubled, _LONGEST_PAUSE) * random.uniform(0.5, 1.0)
