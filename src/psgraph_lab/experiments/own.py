"""Experiments of the user's own: a TOML file with her data and her methods.

The keys are those of the packaged definitions, most with a default. What is new: ``[data.NAME]``
is a data set by its path, with options of `psgraph.read_stream`, and a line's method may be
``module:Class``, searched beside the file first. Paths are relative to the file.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Collection, Iterable
from inspect import signature
from pathlib import Path
from typing import Any

from psgraph.errors import DataError, InvalidArgument
from psgraph.methods.registry import method_class, register_method
from psgraph.metrics.groups import METRICS, PAPER_METRICS
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.streams import read_stream
from psgraph_lab.datasets.entry import OwnDataset, add_dataset

__all__ = ["known_files", "read_again", "read_own"]

_FILES: dict[Path, None] = {}  # those read in this process, in order

_KEYS = (
    "title",
    "about",
    "kind",
    "axis",
    "metrics",
    "datasets",
    "data",
    "lines",
    "epsilons",
    "windows",
    "repetitions",
    "timestamps",
)
_LINE_KEYS = ("label", "method", "parameters", "repetitions")
_DATA_KEYS = ("path", *(name for name in signature(read_stream).parameters if name != "source"))
_KINDS, _AXES = ("quality", "cost"), ("epsilon", "window", "timestamp", "none")


def read_own(path: Path) -> tuple[str, dict[str, Any]]:
    """Read a definition; returns its name and the content in the form of the packaged ones.

    Its data sets and methods are known in this process from now on.
    """
    path = path.resolve()
    content = _parse(path)
    _check_keys(content, _KEYS, path.name)
    if not content.get("lines"):
        raise _wrong(path, "there is no [[lines]]", "Add one for each method.")
    _import_from(path.parent)
    lines = [_line(line, path) for line in content["lines"]]
    data = content.pop("data", {})
    own = {title: _add(title, options, path) for title, options in data.items()}
    wanted = content.get("datasets", list(own))
    filled = {
        "title": path.stem,
        "about": "",
        "kind": "quality",
        "axis": "epsilon",
        "metrics": [metric.name for metric in PAPER_METRICS],
        "epsilons": ["1"],
        **content,
        "lines": lines,
        "datasets": [own.get(name, name) for name in wanted],
    }
    _check_values(filled, path)
    _FILES[path] = None
    return path.stem, filled


def known_files() -> tuple[Path, ...]:
    """The definitions read so far, for `read_again` in another process."""
    return tuple(_FILES)


def read_again(paths: Iterable[Path]) -> None:
    """Make the data sets and methods of definitions known in a new process."""
    for path in paths:
        read_own(path)


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path} does not exist\nCheck the path.") from None
    except OSError as error:
        raise DataError(f"{path} can't be opened: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _wrong(path, f"it is not valid TOML: {error}", "Repair the line.") from None


def _import_from(directory: Path) -> None:
    if str(directory) not in sys.path:
        sys.path.insert(0, str(directory))


def _line(line: dict[str, Any], path: Path) -> dict[str, Any]:
    _check_keys(line, _LINE_KEYS, f"{path.name}, [[lines]]")
    if not isinstance(line.get("method"), str):
        raise _wrong(path, "a line has no method", "Add method = 'psgraph' or 'module:Class'.")
    method = method_class(line["method"])
    if ":" in line["method"]:
        register_method(method)
    parameters = line.get("parameters", {})
    try:
        method(**parameters)
    except TypeError:
        names = ", ".join(method().parameters()) or "none"
        raise _wrong(
            path, f"{method.name} does not take these parameters", f"It takes: {names}."
        ) from None
    # A class of her own is still being changed: results of an older version must not count.
    return {"label": method.name, **line, "method": method.name, "fresh": ":" in line["method"]}


def _add(title: str, options: dict[str, Any], path: Path) -> str:
    _check_keys(options, _DATA_KEYS, f"{path.name}, [data.{title}]")
    if not re.fullmatch(r"[\w .-]{1,60}", title) or not isinstance(options.get("path"), str):
        raise _wrong(path, f"[data.{title}] has no path", "Add path = 'edges.csv'.")
    read = dict(options)
    for name in ("path", "roster"):
        if isinstance(read.get(name), str):
            read[name] = path.parent / read[name]
    return add_dataset(OwnDataset(title, read.pop("path"), read))


def _check_keys(content: Collection[str], known: Collection[str], where: str) -> None:
    for key in content:
        if key not in known:
            raise InvalidArgument(
                f"{where}: there is no key {key!r}\nThe keys are {', '.join(known)}."
            )


def _check_values(content: dict[str, Any], path: Path) -> None:
    for key, allowed in (("kind", _KINDS), ("axis", _AXES)):
        if content[key] not in allowed:
            raise _wrong(path, f"{key} is {content[key]!r}", f"Use one of: {', '.join(allowed)}.")
    for name in content["metrics"]:
        if content["kind"] == "quality" and name not in METRICS:
            raise _wrong(
                path, f"there is no metric {name!r}", "docs/reference/metrics.md lists them."
            )
    if not content["datasets"]:
        raise _wrong(path, "there is no data set", "Add [data.NAME] with a path, or datasets.")
    for epsilon in content["epsilons"]:
        if not isinstance(epsilon, str):
            raise _wrong(path, f"epsilon {epsilon!r} is not a text", "Write epsilons = ['0.5'].")
        for window in content.get("windows", [5]):
            WEventPrivacy(epsilon, window)


def _wrong(path: Path, fact: str, remedy: str) -> InvalidArgument:
    return InvalidArgument(f"{path.name}: {fact}\n{remedy}")
