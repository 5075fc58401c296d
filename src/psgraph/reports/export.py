"""Exporting a publication to a folder for analysts, with its public report."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from psgraph._runtime.durable import check_target
from psgraph._runtime.extras import require_report
from psgraph.errors import DataError, InvalidArgument, MissingExtra
from psgraph.publication.export import Contents, check_format, write_folder
from psgraph.publication.locations import releases_at
from psgraph.publication.releases import read_releases
from psgraph.publication.terms import Promise
from psgraph.publication.verification import Verification, verify
from psgraph.trust.expected import TRUST_SECONDS, expected_within

__all__ = ["Export", "export_releases"]


@dataclass(frozen=True)
class Export:
    """A folder that was written.

    Attributes
    ----------
    folder
        Where it is.
    report
        Whether the public report is in it; that needs the extra ``report``.
    promise
        What is promised of the releases.
    """

    folder: Path
    format: str
    releases: int
    files: int
    report: bool
    promise: Promise

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.promise.to_dict(),
            "folder": str(self.folder),
            "format": self.format,
            "releases": self.releases,
            "files": self.files,
            "report": self.report,
        }


def export_releases(
    releases: str | PathLike[str],
    to: str | PathLike[str],
    *,
    format: str = "parquet",
    trust_seconds: float = TRUST_SECONDS,
) -> Export:
    """Write the folder for analysts: what is public of a publication, and nothing else.

    Releases, certificates, the node list with periods, the public report, a README and checksums.
    Everything is verified first, with the ledger if it is there. The folder appears whole or not
    at all.

    Parameters
    ----------
    releases
        The directory of the releases; one that was exported can be exported again.
    to
        The new folder.
    format
        ``"parquet"``: the releases as they are. ``"csv"`` and ``"graphml"`` add a file for each
        timestamp, ``"combined"`` one table of all edges.
    trust_seconds
        How long the report may take to predict how far the releases can be trusted; 0 leaves that
        section out.

    Raises
    ------
    OutputError
        If the folder is there and not empty.
    VerificationFailed
        If a release is not as it was published. Nothing is written then.

    Examples
    --------
    >>> import tempfile, psgraph as pg
    >>> with tempfile.TemporaryDirectory() as base:
    ...     out, to = f"{base}/releases", f"{base}/for-analysts"
    ...     with pg.Publisher(pg.PSGraph(), pg.WEventPrivacy("1", window=2), out=out) as publisher:
    ...         _ = publisher.publish(pg.demo_stream(nodes=300, timestamps=1)[0])
    ...     done = export_releases(out, to)
    ...     pg.verify(to).releases, done.files
    (1, 8)
    """
    check_format(format)
    directory, folder = releases_at(Path(releases)), Path(to)
    if folder.resolve().is_relative_to(directory.resolve()):
        raise InvalidArgument(
            "the folder would be among the releases\nChoose one outside their directory.",
            code="inside_releases",
        )
    check_target(folder)
    found = verify(directory)
    if not found.releases:
        raise DataError("there is no release to export\nPublish a timestamp first.")
    page = _report(directory, found, trust_seconds) if _can_draw() else None
    published = read_releases(directory)
    contents = Contents(published, published.certificates[: found.releases], format, page)
    files = write_folder(contents, folder)
    return Export(folder, format, found.releases, files, page is not None, found.promise)


def _can_draw() -> bool:
    try:
        require_report()
    except MissingExtra:
        return False
    return True


def _report(directory: Path, found: Verification, trust_seconds: float) -> str:
    from psgraph.reports.public import public_page

    expected = expected_within(directory, trust_seconds)
    return public_page(directory, found, expected=expected).html()
