"""A local copy of a stream's releases, which ``psgraph verify`` and `read_releases` can read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from psgraph._runtime.durable import make_directory, new_folder, put_in_place, write_whole
from psgraph.client.http import Call, Steps, content_of, saved
from psgraph.errors import OutputError, VerificationFailed

if TYPE_CHECKING:
    from psgraph.publication.certificate import Certificate
    from psgraph.publication.release_directory import ReleaseDirectory
    from psgraph.service.schemas import ReleaseView

__all__ = ["Pulled", "download", "pulled"]


@dataclass(frozen=True)
class Pulled:
    """The result of a pull: where the releases are, how many there are, and how many are new."""

    directory: Path
    releases: int
    new: int


def pulled(
    stream: str,
    listed: Iterable[ReleaseView],
    path: Path,
    progress: Callable[[int], object],
) -> Steps[Pulled]:
    """Download what is missing, in order, and check all of it.

    A file gets its name only after its digest was checked: node list, graph, certificate, in this
    order. So whatever is there is complete, and the next call continues after it.
    """
    from psgraph.publication.release_directory import ReleaseDirectory

    _refuse_own(path)
    directory = ReleaseDirectory(path)
    before: Certificate | None = None
    releases = new = 0
    for release in listed:
        if release.timestamp != releases:
            raise VerificationFailed(
                f"the service lists timestamp {release.timestamp} where {releases} is expected\n"
                "Ask its operator to verify the stream."
            )
        if directory.has(releases):
            before = _kept(directory, release)
        else:
            source = f"{stream}/releases/{release.timestamp}"
            previous = "" if before is None else before.digest
            before = yield from download(source, directory, release, previous=previous)
            new += 1
            progress(release.timestamp)
        directory.add_to_index(before)
        releases += 1
    _refuse_more(directory, releases)
    return Pulled(path, releases, new)


def _refuse_own(path: Path) -> None:
    """Refuse a directory with a ledger: the two would no longer match."""
    from psgraph.publication.locations import find_ledger

    if find_ledger(path) is not None:
        raise OutputError(
            f"{path} has a ledger: it was published here, not pulled\nChoose another directory."
        )


def _refuse_more(directory: ReleaseDirectory, releases: int) -> None:
    there = directory.timestamps()
    if there and there[-1] >= releases:
        raise VerificationFailed(
            f"{directory.path} holds timestamp {there[-1]}, which the service does not list\n"
            "It belongs to another stream, or the service was restored from an old backup. Keep "
            "the directory, and ask the operator."
        )


def _kept(directory: ReleaseDirectory, release: ReleaseView) -> Certificate:
    """Check a release that is already there against the list of the service."""
    certificate = directory.certificate(release.timestamp)
    if certificate.digest != release.digest:
        raise VerificationFailed(
            f"timestamp {release.timestamp} in {directory.path} differs from that of the service\n"
            "It belongs to another stream, or was drawn twice. Keep the directory, pull into "
            "another one, and ask the operator which of them is right."
        )
    directory.check_graph(certificate)
    directory.nodes(certificate)
    return certificate


def download(
    source: str, directory: ReleaseDirectory, listed: ReleaseView, *, previous: str | None = None
) -> Steps[Certificate]:
    """Download one release, and check it.

    Parameters
    ----------
    previous
        The digest of the certificate before it, or "" if it is the first; None: not checked.
    """
    content = yield from content_of(Call("GET", f"{source}/certificate"))
    certificate = _checked(content, listed, previous)
    sha256 = certificate.nodes_sha256
    if sha256 is not None:
        yield from _file(f"{source}/nodes", directory.nodes_path(sha256), sha256)
    if certificate.graph_parts is None:
        graph = directory.graph_path(certificate.timestamp)
        yield from _file(f"{source}/edges", graph, certificate.graph_sha256)
    else:
        yield from _parts(source, directory, certificate, certificate.graph_parts)
    write_whole(directory.certificate_path(certificate.timestamp), content)
    return certificate


def _checked(content: bytes, listed: ReleaseView, previous: str | None) -> Certificate:
    from psgraph.publication.certificate import Certificate

    certificate = Certificate.from_json(content)
    follows = previous is None or (certificate.previous or "") == previous
    found = certificate.timestamp, certificate.digest
    if not follows or found != (listed.timestamp, listed.digest):
        raise VerificationFailed(
            f"the certificate of timestamp {listed.timestamp} does not follow the "
            "previous one\nAsk the operator of the service to verify the stream."
        )
    return certificate


def _parts(
    source: str, directory: ReleaseDirectory, certificate: Certificate, number: int
) -> Steps[None]:
    """Download the parts of a graph unless they are there; they get their names together."""
    from psgraph.publication.graph_files import part_name, parts_of

    target = directory.parts_path(certificate.timestamp)
    if target.exists():
        directory.check_graph(certificate)
        return
    with new_folder(target) as folder:
        for part in range(number):
            yield from saved(
                Call("GET", f"{source}/edges?part={part}", to=folder / part_name(part))
            )
        try:
            parts_of(folder, number, certificate.graph_sha256)
        except VerificationFailed:
            raise _not_certified(target) from None


def _file(source: str, target: Path, sha256: str | None) -> Steps[None]:
    """Download a file unless it is there; give it its name once the digest is checked."""
    if target.exists():
        with target.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() == sha256:
                return
    make_directory(target.parent)
    part = target.with_name(f".{target.name}.part")
    try:
        if (yield from saved(Call("GET", source, to=part))) != sha256:
            raise _not_certified(target)
        _put(part, target)
    finally:
        part.unlink(missing_ok=True)


def _not_certified(target: Path) -> VerificationFailed:
    return VerificationFailed(
        f"{target.name} as sent by the service does not match its certificate\n"
        "None of it was kept. Pull again; if it fails again, ask the operator."
    )


def _put(part: Path, target: Path) -> None:
    try:
        put_in_place(part, target)
    except OSError as error:
        raise OutputError(
            f"{target} can't be written: {error.strerror}\n"
            "Free some space, then run the same command again."
        ) from None
