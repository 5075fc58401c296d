"""Optional libraries, checked for before any work is done that would need them."""

from __future__ import annotations

from importlib.util import find_spec

from psgraph.errors import MissingExtra

__all__ = [
    "require_addresses",
    "require_client",
    "require_dask",
    "require_drawing",
    "require_postgres",
    "require_report",
    "require_service",
]

_CLIENT = {"httpx": "httpx", "pydantic": "pydantic"}
_DASK = {"distributed": "Dask", "fsspec": "fsspec"}
_DRAWING = {"matplotlib": "matplotlib", "PIL": "Pillow"}
_POSTGRES = {"psycopg": "psycopg"}
_REPORT = {"jinja2": "Jinja2", **_DRAWING}
_SERVICE = {
    "fastapi": "FastAPI",
    "uvicorn": "uvicorn",
    "jinja2": "Jinja2",
    "argon2": "argon2-cffi",
    "python_multipart": "python-multipart",
}


def require_addresses() -> None:
    """Raise `MissingExtra`, with the install line, unless addresses can be used.

    >>> require_addresses()
    """
    _require({"fsspec": "fsspec"}, "dask")


def require_client() -> None:
    """Raise `MissingExtra`, with the install line, unless a service can be called.

    >>> require_client()
    """
    _require(_CLIENT, "client")


def require_dask() -> None:
    """Raise `MissingExtra`, with the install line, unless a cluster can be used. Imports nothing.

    >>> require_dask()
    """
    _require(_DASK, "dask")


def require_drawing(extra: str = "report") -> None:
    """Raise `MissingExtra`, with the install line, unless pictures can be drawn. Imports nothing.

    >>> require_drawing()
    """
    _require(_DRAWING, extra)


def require_postgres() -> None:
    """Raise `MissingExtra`, with the install line, unless PostgreSQL can be used. Imports nothing.

    >>> require_postgres()  # doctest: +SKIP
    """
    _require(_POSTGRES, "postgres")


def require_report(extra: str = "report") -> None:
    """Raise `MissingExtra`, with the install line, unless reports can be made. Imports nothing.

    >>> require_report()
    """
    _require(_REPORT, extra)


def require_service() -> None:
    """Raise `MissingExtra`, with the install line, unless the service can run. Imports nothing.

    >>> require_service()
    """
    _require(_SERVICE, "service")


def _require(libraries: dict[str, str], extra: str) -> None:
    for module, library in libraries.items():
        if find_spec(module) is None:
            raise MissingExtra(library, extra)
