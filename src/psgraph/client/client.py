"""The clients: one method for each thing a service does."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from psgraph._runtime.durable import as_path
from psgraph.client import operations
from psgraph.client.http import AsyncHttp, Http
from psgraph.client.mirror import Pulled
from psgraph.publication.certificate import Release
from psgraph.service.schemas import (
    Accepted,
    AuditEntry,
    Budget,
    ComparisonResult,
    Preview,
    ReleaseView,
    StreamView,
    TimestampView,
    TokenCreated,
    TokenView,
    VerificationView,
)

__all__ = ["AsyncClient", "Client"]


class Client:
    """A service, as one token sees it.

    Connections are kept: use one client for many calls, and close it or use it in a ``with`` block.
    Several threads can share it.

    Parameters
    ----------
    address
        Such as ``https://psgraph.example.org``; ``http://`` for this machine only.
    token
        As printed by the service or created by a curator. Without it only public streams can be
        read.
    certificates
        A file with the certificates to trust, if the system does not trust that of the service.
    timeout
        Seconds to wait for the service to continue a response.
    """

    def __init__(
        self,
        address: str,
        token: str | None = None,
        *,
        certificates: str | Path | None = None,
        timeout: float = 60.0,
    ) -> None:
        trusted = None if certificates is None else as_path(certificates, "the certificates")
        self._http = Http(address, token=token, certificates=trusted, timeout=timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    # ---- streams ----

    def streams(self) -> list[StreamView]:
        """List the streams that the token may see."""
        return self._http.run(operations.streams())

    def stream(self, name: str) -> StreamView:
        """Return the terms and the progress of a stream."""
        return self._http.run(operations.stream(name))

    def create_stream(self, name: str, *, epsilon: str, window: int, **terms: Any) -> StreamView:
        """Create a stream. Its terms can't be changed later.

        `terms` are those of ``POST /streams``: method, parameters, roster, source, period and so
        on; the page ``/api`` of the service describes them.
        """
        content = {"name": name, "epsilon": str(epsilon), "window": window, **terms}
        return self._http.run(operations.create_stream(content))

    def change_stream(
        self, name: str, *, title: str | None = None, activity: str | None = None
    ) -> StreamView:
        """Change the title of a stream, or make it "active", "paused" or "archived"."""
        return self._http.run(
            operations.change_stream(name, {"title": title, "activity": activity})
        )

    def put_roster(self, stream: str, file: str | Path, *, side: str | None = None) -> int:
        """Set the public node list of a stream; it can only grow. Return its length.

        A two-sided stream has two: give `side`, "left" or "right".
        """
        return self._http.run(operations.put_roster(stream, file, side))

    # ---- posting, for curators ----

    def push(
        self, stream: str, timestamp: int, file: str | Path, *, time: str | None = None
    ) -> Accepted:
        """Post the edges of a timestamp: a CSV or Parquet file with columns u and v.

        Posting the same data again is harmless; different data for the same timestamp are refused.

        Parameters
        ----------
        time
            The public name of the timestamp. A stream with a period names its own.
        """
        return self._http.run(operations.push(stream, timestamp, file, time))

    def push_events(self, stream: str, file: str | Path, *, key: str | None = None) -> Accepted:
        """Post events: a CSV or Parquet file with columns u, v and time.

        Parameters
        ----------
        key
            A name for this batch. A batch whose key was accepted before is not added again; give
            one if you may call this again after an error.
        """
        return self._http.run(
            operations.push_events(stream, file, key or secrets.token_urlsafe(24))
        )

    def preview(self, stream: str, file: str | Path) -> Preview:
        """Return what the service would read from a file. Stores nothing; private."""
        return self._http.run(operations.preview(stream, file))

    def comparison(self, stream: str) -> ComparisonResult:
        """Compare the releases with the originals that are kept. Private."""
        return self._http.run(operations.comparison(stream))

    def state(self, stream: str, timestamp: int) -> TimestampView:
        """Return the state of a timestamp."""
        return self._http.run(operations.state(stream, timestamp))

    def wait(self, stream: str, timestamp: int, *, seconds: float = 300.0) -> TimestampView:
        """Wait until a timestamp is released or refused, at most `seconds`; return its state."""
        return self._http.run(operations.wait(stream, timestamp, seconds))

    # ---- reading, for analysts ----

    def releases(self, stream: str, *, since: int = 0) -> list[ReleaseView]:
        """List the releases of a stream in order."""
        return self._http.run(operations.releases(stream, since))

    def pull(
        self,
        stream: str,
        to: str | Path,
        *,
        progress: Callable[[int], object] = lambda _timestamp: None,
    ) -> Pulled:
        """Download the releases of a stream that are not yet in the directory `to`.

        Every file is checked against its certificate and every certificate against the one before
        it. Files appear only when complete, so the next call continues an interrupted one.
        """
        return self._http.run(operations.pull(stream, to, progress))

    def follow(self, stream: str, *, since: int = 0) -> Iterator[ReleaseView]:
        """Yield releases as they appear, from `since` on; never ends by itself."""
        while True:
            found = self._http.run(operations.new_releases(stream, since))
            since += len(found)
            yield from found

    def release(self, stream: str, timestamp: int) -> Release:
        """Return one release in memory: its graph, checked against its certificate."""
        return self._http.run(operations.release(stream, timestamp))

    def edges(self, stream: str, timestamp: int) -> pa.Table:
        """Return the edges of a release in memory: a table of u, v and weight, if it has weights.

        They come as a stream of Arrow and are not checked against the certificate; `release` does.
        """
        return self._http.run(operations.edges(stream, timestamp))

    def export(self, stream: str, to: str | Path, *, format: str = "parquet") -> None:
        """Download all public files of a stream as one ZIP archive."""
        self._http.run(operations.export(stream, to, format))

    # ---- oversight and administration ----

    def budget(self, stream: str) -> Budget:
        """Return what every timestamp spent, and what is left in the window."""
        return self._http.run(operations.budget(stream))

    def verify(self, stream: str) -> VerificationView:
        """Have the service check every release, certificate and ledger row of a stream."""
        return self._http.run(operations.verify(stream))

    def catch_up(self, stream: str) -> StreamView:
        """Publish the periods that passed while the service was stopped."""
        return self._http.run(operations.catch_up(stream))

    def measure_again(self, stream: str) -> StreamView:
        """Continue a stream that stopped because a timestamp was measured too often, unsealed.

        Find out first why it was not sealed; its `reason` says that it has stopped.
        """
        return self._http.run(operations.measure_again(stream))

    def audit_log(self, *, limit: int = 100) -> list[AuditEntry]:
        """Return the newest entries of the audit log."""
        return self._http.run(operations.audit_log(limit)).entries

    def tokens(self) -> list[TokenView]:
        """List all tokens, without their secrets."""
        return self._http.run(operations.tokens())

    def create_token(self, role: str, **options: Any) -> TokenCreated:
        """Create a token: "curator", "analyst", "auditor", or "administrator" by one of these.

        Its secret is shown only once.

        `options` are those of ``POST /tokens``: label, streams, expires_days.
        """
        return self._http.run(operations.create_token({"role": role, **options}))

    def revoke_token(self, identifier: str) -> TokenView:
        """Revoke a token by its id. It stops working at once."""
        return self._http.run(operations.revoke_token(identifier))

    def plan(self, *, epsilon: str, window: int, nodes: int, **options: Any) -> dict[str, Any]:
        """Return how noisy a publication would be. Spends nothing."""
        content = {"epsilon": str(epsilon), "window": window, "nodes": nodes, **options}
        return self._http.run(operations.plan(content))


class AsyncClient:
    """A service, as one token sees it, with methods to await.

    Parameters are those of `Client`, and each method does what its namesake there does.
    """

    def __init__(
        self,
        address: str,
        token: str | None = None,
        *,
        certificates: str | Path | None = None,
        timeout: float = 60.0,
    ) -> None:
        trusted = None if certificates is None else as_path(certificates, "the certificates")
        self._http = AsyncHttp(address, token=token, certificates=trusted, timeout=timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.close()

    async def streams(self) -> list[StreamView]:
        return await self._http.run(operations.streams())

    async def stream(self, name: str) -> StreamView:
        return await self._http.run(operations.stream(name))

    async def create_stream(
        self, name: str, *, epsilon: str, window: int, **terms: Any
    ) -> StreamView:
        content = {"name": name, "epsilon": str(epsilon), "window": window, **terms}
        return await self._http.run(operations.create_stream(content))

    async def change_stream(
        self, name: str, *, title: str | None = None, activity: str | None = None
    ) -> StreamView:
        return await self._http.run(
            operations.change_stream(name, {"title": title, "activity": activity})
        )

    async def put_roster(self, stream: str, file: str | Path, *, side: str | None = None) -> int:
        return await self._http.run(operations.put_roster(stream, file, side))

    # ---- posting, for curators ----

    async def push(
        self, stream: str, timestamp: int, file: str | Path, *, time: str | None = None
    ) -> Accepted:
        return await self._http.run(operations.push(stream, timestamp, file, time))

    async def push_events(
        self, stream: str, file: str | Path, *, key: str | None = None
    ) -> Accepted:
        return await self._http.run(
            operations.push_events(stream, file, key or secrets.token_urlsafe(24))
        )

    async def preview(self, stream: str, file: str | Path) -> Preview:
        return await self._http.run(operations.preview(stream, file))

    async def comparison(self, stream: str) -> ComparisonResult:
        return await self._http.run(operations.comparison(stream))

    async def state(self, stream: str, timestamp: int) -> TimestampView:
        return await self._http.run(operations.state(stream, timestamp))

    async def wait(self, stream: str, timestamp: int, *, seconds: float = 300.0) -> TimestampView:
        return await self._http.run(operations.wait(stream, timestamp, seconds))

    # ---- reading, for analysts ----

    async def releases(self, stream: str, *, since: int = 0) -> list[ReleaseView]:
        return await self._http.run(operations.releases(stream, since))

    async def pull(
        self,
        stream: str,
        to: str | Path,
        *,
        progress: Callable[[int], object] = lambda _timestamp: None,
    ) -> Pulled:
        return await self._http.run(operations.pull(stream, to, progress))

    async def follow(self, stream: str, *, since: int = 0) -> AsyncIterator[ReleaseView]:
        while True:
            found = await self._http.run(operations.new_releases(stream, since))
            since += len(found)
            for each in found:
                yield each

    async def release(self, stream: str, timestamp: int) -> Release:
        return await self._http.run(operations.release(stream, timestamp))

    async def edges(self, stream: str, timestamp: int) -> pa.Table:
        return await self._http.run(operations.edges(stream, timestamp))

    async def export(self, stream: str, to: str | Path, *, format: str = "parquet") -> None:
        await self._http.run(operations.export(stream, to, format))

    # ---- oversight and administration ----

    async def budget(self, stream: str) -> Budget:
        return await self._http.run(operations.budget(stream))

    async def verify(self, stream: str) -> VerificationView:
        return await self._http.run(operations.verify(stream))

    async def catch_up(self, stream: str) -> StreamView:
        return await self._http.run(operations.catch_up(stream))

    async def measure_again(self, stream: str) -> StreamView:
        return await self._http.run(operations.measure_again(stream))

    async def audit_log(self, *, limit: int = 100) -> list[AuditEntry]:
        return (await self._http.run(operations.audit_log(limit))).entries

    async def tokens(self) -> list[TokenView]:
        return await self._http.run(operations.tokens())

    async def create_token(self, role: str, **options: Any) -> TokenCreated:
        return await self._http.run(operations.create_token({"role": role, **options}))

    async def revoke_token(self, identifier: str) -> TokenView:
        return await self._http.run(operations.revoke_token(identifier))

    async def plan(
        self, *, epsilon: str, window: int, nodes: int, **options: Any
    ) -> dict[str, Any]:
        content = {"epsilon": str(epsilon), "window": window, "nodes": nodes, **options}
        return await self._http.run(operations.plan(content))
