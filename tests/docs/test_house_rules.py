"""Rules of the code base that neither ruff nor import-linter checks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
LONGEST = 400


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def is_module(dotted: str) -> bool:
    path = SOURCE.joinpath(*dotted.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def is_private(word: str) -> bool:
    return word.startswith("_") and not word.startswith("__")


def origin(node: ast.ImportFrom, package: list[str]) -> str:
    """The absolute name of the module that is imported from; `package` holds the importer."""
    above = package[: len(package) - node.level + 1] if node.level else []
    return ".".join([*above, *([node.module] if node.module else [])])


def crossings(tree: ast.AST, package: list[str]) -> Iterator[tuple[int, str]]:
    """Underscore names of another module that a module uses: imported, or as `module._name`."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and origin(node, package).startswith("psgraph"):
            for alias in node.names:
                full = f"{origin(node, package)}.{alias.name}"
                if is_module(full):
                    aliases[alias.asname or alias.name] = full
                elif is_private(alias.name):
                    yield node.lineno, full
        elif isinstance(node, ast.Import):
            aliases |= {
                alias.asname: alias.name
                for alias in node.names
                if alias.asname and alias.name.startswith("psgraph")
            }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and is_private(node.attr)
            and isinstance(node.value, ast.Name)
            and node.value.id in aliases
            and not is_module(f"{aliases[node.value.id]}.{node.attr}")
        ):
            yield node.lineno, f"{aliases[node.value.id]}.{node.attr}"


def test_a_file_is_one_idea():
    lengths = {name(path): len(path.read_text().splitlines()) for path in modules()}
    long = [f"{path}: {lines} lines" for path, lines in lengths.items() if lines > LONGEST]
    assert not long, "\n".join(long)


def test_no_module_uses_underscore_names_of_another():
    found = [
        f"{name(path)}:{line}: {used}"
        for path in modules()
        for line, used in crossings(
            ast.parse(path.read_text()), [*path.relative_to(SOURCE).parent.parts]
        )
    ]
    assert not found, f"{len(found)} uses\n" + "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "from psgraph.privacy.samplers import _draw",
        "from .samplers import _draw",
        "from psgraph.privacy import samplers\nsamplers._draw()",
        "import psgraph.privacy.samplers as noise\nnoise._draw()",
    ],
)
def test_underscore_names_of_another_module_are_found(source):
    ((_, used),) = crossings(ast.parse(source), ["psgraph", "privacy"])
    assert used == "psgraph.privacy.samplers._draw"


@pytest.mark.parametrize(
    "source",
    [
        "from psgraph._version import __version__",
        "from psgraph import _runtime",
        "from psgraph._runtime import jit\njit.kernel",
        "from numpy import _core",
    ],
)
def test_private_packages_and_other_libraries_are_no_crossing(source):
    assert not list(crossings(ast.parse(source), ["psgraph", "privacy"]))


# ---- one owner of pairs: `psgraph.graph.kind` ----

PACKS = re.compile(r"(?<!\b1 )(<<|>>) ?(32|bits)\b|0x[fF]{8}\b")
COUNTS = re.compile(r"\b([A-Za-z_][\w.]*(?:\[\w+\])?) \* \(\1 - 1\)")
NO_PAIRS = {
    "src/psgraph/graph/kind.py",
    "src/psgraph/engines/counter_based.py",  # words of random bits
    "src/psgraph/_runtime/sorting.py",  # groups of nodes, not pairs
    "src/psgraph/methods/plus/capped.py",  # moments of a distribution of degrees
    "src/psgraph/methods/plus/clustering.py",  # sums of rungs
    "src/psgraph/methods/plus/ladder.py",  # sums of rungs; bits of an interval
}


def pair_arithmetic(text: str) -> Iterator[tuple[int, str]]:
    """Lines that pack two ends into a key, or count n(n−1) pairs."""
    for number, line in enumerate(text.splitlines(), 1):
        if PACKS.search(line) or COUNTS.search(line):
            yield number, line.strip()


def test_only_the_kind_packs_keys_and_counts_pairs():
    found = [
        f"{name(path)}:{number}: {line}"
        for path in modules()
        if name(path) not in NO_PAIRS and "privacy" not in path.parts
        for number, line in pair_arithmetic(path.read_text())
    ]
    assert not found, "use psgraph.graph.kind instead of\n" + "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "keys = u.astype(np.int64) << 32 | v",
        "v = keys & 0xFFFFFFFF",
        "u = key >> bits",
        "pairs = nodes * (nodes - 1) // 2",
        "room = sizes[a] * (sizes[a] - 1) // 2",
        "most = each.nodes * (each.nodes - 1) / 2",
    ],
)
def test_arithmetic_of_pairs_is_found(line):
    assert list(pair_arithmetic(line))


# ---- the kernel that `make test` covers completely ----


def kernel() -> list[str]:
    """The patterns under KERNEL in the Makefile."""
    lines = re.findall(r"^KERNEL := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return [each for line in lines for each in line.split(",") if each != "$(KERNEL)"]


def test_every_file_of_the_kernel_exists():
    files = [name(path) for path in modules()]
    gone = [each for each in kernel() if not any(fnmatch(file, each) for file in files)]
    assert not gone, gone


def test_every_mechanism_is_part_of_the_kernel():
    outside = [
        f"{name(path)}: {node.name}"
        for path in modules()
        if not any(fnmatch(name(path), each) for each in kernel())
        if not name(path).startswith("src/psgraph/audit/")  # stand-ins that hide nothing
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        and any(re.search(r"\bMechanism\b", ast.unparse(base)) for base in node.bases)
    ]
    assert not outside, "add to KERNEL in the Makefile: " + ", ".join(outside)
