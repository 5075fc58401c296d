"""Copying a store to an object store: the manifest comes last, so that it is there whole or not."""

from __future__ import annotations

from pathlib import Path

from psgraph.errors import OutputError
from psgraph.stores.manifest import MANIFEST
from psgraph.stores.places import Address

__all__ = ["check_free", "copy_store"]


def check_free(address: Address) -> None:
    """Refuse an address where there is something; nothing is ever replaced."""
    try:
        taken = bool(address.file_names())
    except FileNotFoundError:
        return
    except OSError as error:
        raise _failed(address, error) from None
    if taken:
        raise OutputError(f"{address} is not empty\nChoose another address, or remove it first.")


def copy_store(store: Path, address: Address) -> None:
    """Copy all files of a local store; without its manifest a copy is no store."""
    names = [path.relative_to(store).as_posix() for path in store.rglob("*") if path.is_file()]
    try:
        for name in sorted(names, key=lambda name: (name == MANIFEST, name)):
            (address / name).write_bytes((store / name).read_bytes())
    except OSError as error:
        raise _failed(address, error) from None


def _failed(address: Address, error: OSError) -> OutputError:
    return OutputError(
        f"{address} can't be written: {error.strerror or 'I/O error'}\n"
        "Check the address, the permissions and the space there."
    )
