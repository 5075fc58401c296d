"""The export for analysts and the public report, made once per release and cached.

Both draw pictures, so they are made by `Service.drawing`.

Privacy: both are functions of published files.
"""

from __future__ import annotations

import secrets
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import Response
from fastapi.responses import FileResponse, HTMLResponse

from psgraph._runtime.durable import make_directory
from psgraph._runtime.extras import require_drawing
from psgraph.errors import MissingExtra
from psgraph.publication.verification import verify
from psgraph.reports.export import export_releases
from psgraph.service.permissions import Identity
from psgraph.service.problems import Refusal

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = ["SANDBOX", "export_file", "report_page"]

SANDBOX = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; sandbox allow-downloads"
)
"""The content security policy of reports, which embed their style and pictures, no script."""


async def export_file(service: Service, stream: Stream, format: str, caller: Identity) -> Response:
    """Return all public files of a stream as a ZIP archive, verified before it is packed."""
    name = f"{format}.zip"
    path = await _made(service, stream, name, lambda to: _pack(stream, format, to), caller)
    return FileResponse(path, media_type="application/zip", filename=f"{stream.name}-{format}.zip")


async def report_page(service: Service, stream: Stream, caller: Identity) -> Response:
    """Return the public report."""
    path = await _made(service, stream, "report.html", lambda to: _draw(stream, to), caller)
    text = await service.in_thread(path.read_text, encoding="utf-8")
    return HTMLResponse(text, headers={"Content-Security-Policy": SANDBOX})


async def _made(
    service: Service, stream: Stream, name: str, make: Callable[[Path], None], caller: Identity
) -> Path:
    """Return a cached file for the current state of a stream; make it if it is missing."""
    released = len(await service.in_thread(stream.releases.refresh))
    if not released:
        raise Refusal(
            404, "not_released", "Nothing is released yet.", "Wait for the first release."
        )
    folder = service.cache / stream.name
    path = folder / f"{released:06d}-{name}"

    def make_file() -> Path:
        make_directory(folder)
        for old in folder.glob(f"*-{name}"):
            old.unlink(missing_ok=True)
        part = path.with_name(f".{secrets.token_hex(4)}-{path.name}")  # others may make it too
        make(part)
        return part.rename(path)

    if path.exists():
        return path
    return await service.drawing.run(caller, path, make_file)


def _pack(stream: Stream, format: str, to: Path) -> None:
    folder = to.with_suffix(".folder")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        export_releases(stream.all_files(), folder, format=format)
        with zipfile.ZipFile(to, "w", zipfile.ZIP_STORED) as archive:
            for file in sorted(folder.rglob("*")):
                if file.is_file():
                    archive.write(file, f"{stream.name}/{file.relative_to(folder).as_posix()}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _draw(stream: Stream, to: Path) -> None:
    try:
        require_drawing()
    except MissingExtra as error:
        raise Refusal(
            503,
            "no_drawing",
            "The report can't be drawn on this server.",
            error.on_a_server,
        ) from None
    from psgraph.reports.public import public_page

    to.write_text(public_page(stream.all_files(), verify(stream.out)).html(), encoding="utf-8")
