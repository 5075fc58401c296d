"""Uploads: received into a private file within limits, then checked before they are read.

Sizes are bounded as sent and decompressed, rows are counted before a table is built, and Parquet
is refused by its metadata. Only then do the readers of `psgraph.streams` see the file.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import ClientDisconnect

from psgraph.service.problems import Refusal, refusal_of
from psgraph.service.settings import Limits
from psgraph.service.upload_checks import Kind, new_file, prepare, too_large

__all__ = ["MEDIA_TYPES", "Upload", "receive"]

MEDIA_TYPES: dict[str, Kind] = {
    "text/csv": "csv",
    "application/vnd.apache.parquet": "parquet",
}


@dataclass(frozen=True)
class Upload:
    """A received file: plain text or Parquet, within the limits. Private, and soon deleted."""

    path: Path
    kind: Kind


@asynccontextmanager
async def receive(
    chunks: AsyncIterator[bytes], media_type: str | None, directory: Path, limits: Limits
) -> AsyncIterator[Upload]:
    """Write what a client sends to a file, check it, and delete it at the end of the block.

    Raises
    ------
    Refusal
        415 for another media type, 413 above a limit, 408 when it takes too long, 422 if it is
        damaged. Messages are constant.
    """
    kind = MEDIA_TYPES.get((media_type or "").partition(";")[0].strip().lower())
    if kind is None:
        raise Refusal(
            415,
            "media_type",
            "The service takes text/csv and application/vnd.apache.parquet.",
            "Set the header Content-Type, and send the file as the body.",
        )
    stem = directory / secrets.token_hex(8)
    raw, path = stem.with_suffix(".raw"), stem.with_suffix(f".{kind}")
    try:
        try:
            async with asyncio.timeout(limits.upload_seconds):
                await _write(chunks, raw, limits.upload_bytes)
        except TimeoutError:
            raise Refusal(
                408,
                "too_slow",
                f"The upload took longer than {limits.upload_seconds:g} seconds.",
                "Send it over a faster connection, or in smaller parts.",
                {"Connection": "close"},
            ) from None
        except ClientDisconnect:
            raise refusal_of(400) from None  # nobody reads the answer
        await asyncio.to_thread(prepare, raw, path, kind, limits)
        yield Upload(path, kind)
    finally:
        raw.unlink(missing_ok=True)
        path.unlink(missing_ok=True)


async def _write(chunks: AsyncIterator[bytes], path: Path, most: int) -> None:
    size = 0
    with new_file(path) as file:
        async for chunk in chunks:
            size += len(chunk)
            if size > most:
                raise too_large(most)
            file.write(chunk)
