"""Receiving the body of a request into a private file, within the limits of the service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Request

from psgraph.service.problems import Refusal
from psgraph.service.service import Service
from psgraph.service.upload_checks import too_large
from psgraph.service.uploads import Upload, receive

__all__ = ["received", "received_from"]

_LONGEST_WAIT = 30.0  # seconds until another upload has to be finished


@asynccontextmanager
async def received(request: Request, service: Service) -> AsyncIterator[Upload]:
    """Receive the body of a request; the file is deleted at the end of the block."""
    limits = service.settings.limits
    announced = request.headers.get("Content-Length", "")
    if announced.isascii() and announced.isdigit() and int(announced) > limits.upload_bytes:
        raise too_large(limits.upload_bytes)
    media_type = request.headers.get("Content-Type")
    async with received_from(request.stream(), media_type, service) as upload:
        yield upload


@asynccontextmanager
async def received_from(
    chunks: AsyncIterator[bytes], media_type: str | None, service: Service
) -> AsyncIterator[Upload]:
    """Receive a file piece by piece; it is deleted at the end of the block."""
    try:
        async with asyncio.timeout(_LONGEST_WAIT):
            await service.uploading.acquire()
    except TimeoutError:
        raise Refusal(
            503,
            "busy",
            "As many uploads as are allowed are being received.",
            "Try again in a moment.",
            {"Retry-After": "5"},
        ) from None
    try:
        limits = service.settings.limits
        async with receive(chunks, media_type, service.incoming, limits) as upload:
            yield upload
    finally:
        service.uploading.release()
