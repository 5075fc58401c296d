"""Rules of this repository that neither ruff nor import-linter checks. Part of `make lint`.

Prints one line for each breach, as linters do, and fails if there is any.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
LONGEST = 500

INSTEAD = {
    r"(?<![a-z\"'])laws?(?![a-z\"'])(?<!power law)(?<!power-law)(?<!power laws)": "distribution",
    r"\brising\b": "ascending",
    r"\bwhole numbers?\b": "integer",
    r"\bat hand\b": "available",
    r"\bnot to be had\b": "not available",
    r"\banew\b": "again, recomputed",
    r"\bso many\b": "a count: `drawn[i]` cells from region i",
    r"\b(?:goes|go|going|went) on\b": "continue, resume",
    r"\bstrangers?\b": "unknown ids, not on the roster",
    r"\bdear(?:er|est)?\b": "expensive",
    r"\bbegun\b": "started",
    r"\bread(?:ing|s)?(?: (?:it|them|this))? off\b": "taken from",
    r"\bmade-up\b": "fictional, synthetic",
    r"\bmay be another one\b": "may be a different one",
    r"\b(?:something|anything|nothing) else than\b": "different from, other than",
    r"\bask(?:s|ed|ing)? (?:a |the )?questions?\b": "query",
    r"\banother one than\b": "different from",
    r"\b(?:public|private) (?:are|is) (?:the|which|who|what)\b": "The nodes are public.",
    r"\bholds the truth\b": "contains the original data",
    r"\bdepends? on luck\b": "deterministic",
    r"\bcame to draw\b": "its output distribution changed",
    r"\bmay not show\b": "cannot share",
    r"\bnobody (?:cares|would ever)\b": "no impact; say what happens",
    r"\bis said with\b": "is listed with",
    r"\bmean and most\b": "mean and maximum",
    r"(?<![\d.,])(?<![-−] )\b1 (?:timestamps|edges|nodes|releases|snapshots|runs)\b": "1 timestamp",
}
# Certificates say it in these words, and what is sealed does not change.
CERTIFIED = {("legacy.py", "read off"), ("roster.py", "read off"), ("time_source.py", "read off")}
PHRASES = {re.compile(phrase, re.IGNORECASE): instead for phrase, instead in INSTEAD.items()}


def main() -> int:
    """Print all breaches; 1 if there are any."""
    found = [*wording(), *long_files(), *borrowed_names(), *kernel_files(), *pairs_elsewhere()]
    found += licence()
    print("\n".join(found) if found else "House rules: all kept.")
    return int(bool(found))


def shown(path: Path, line: int = 1) -> str:
    return f"{path.relative_to(ROOT).as_posix()}:{line}:"


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


# ---- plain English ----


def hits(text: str) -> Iterator[tuple[int, str, str]]:
    """Line number, phrase found and suggestion, for every phrase that reads as translated.

    >>> [found for _, found, _ in hits("Public are the nodes\\nfiles at hand\\n1 timestamps")]
    ['Public are the', 'at hand', '1 timestamps']
    >>> list(hits("a power-law distribution; lawn; The nodes are public; 11 timestamps"))
    []
    """
    for number, line in enumerate(text.splitlines(), start=1):
        for phrase, instead in PHRASES.items():
            for found in phrase.finditer(line):
                yield number, found[0], instead


def wording() -> Iterator[str]:
    """Phrases to rewrite in what readers see: code, documents, proofs."""
    texts = [*ROOT.glob("*.md")]
    for folder in ("src", "docs", "proofs"):
        texts += [
            path
            for path in (ROOT / folder).rglob("*")
            if path.suffix in (".md", ".py", ".toml", ".html") and "audit" not in path.parts[-2:-1]
        ]
    for path in sorted(texts):
        if path.suffix == ".html" and "templates" not in path.parts:
            continue
        for number, phrase, instead in hits(path.read_text()):
            if (path.name, phrase) in CERTIFIED:
                continue
            yield f"{shown(path, number)} {phrase!r} (instead: {instead})"


# ---- the house ----


def long_files() -> Iterator[str]:
    """Files that hold more than one idea."""
    for path in modules():
        lines = len(path.read_text().splitlines())
        if lines > LONGEST:
            yield f"{shown(path)} {lines} lines; a file has at most {LONGEST}"


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
    """Underscore names of another module that a module uses: imported, or as `module._name`.

    >>> source = "from psgraph.privacy import samplers\\nsamplers._draw()"
    >>> list(crossings(ast.parse(source), ["psgraph", "privacy"]))
    [(2, 'psgraph.privacy.samplers._draw')]
    >>> list(crossings(ast.parse("from .samplers import _draw"), ["psgraph", "privacy"]))
    [(1, 'psgraph.privacy.samplers._draw')]
    >>> list(crossings(ast.parse("from psgraph import _runtime"), ["psgraph"]))
    []
    """
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


def borrowed_names() -> Iterator[str]:
    """Modules that use underscore names of another one."""
    for path in modules():
        package = [*path.relative_to(SOURCE).parent.parts]
        for line, used in crossings(ast.parse(path.read_text()), package):
            yield f"{shown(path, line)} uses {used}"


# ---- one owner of pairs: `psgraph.graph.kind` ----

PACKS = re.compile(r"(?<!\b1 )(<<|>>) ?(32|bits)\b|0x[fF]{8}\b")
COUNTS = re.compile(r"\b([A-Za-z_][\w.]*(?:\[\w+\])?) \* \(\1 - 1\)")
NO_PAIRS = (
    "psgraph/graph/kind.py",
    "psgraph/privacy/",
    "psgraph/engines/counter_based.py",  # words of random bits
    "psgraph/_runtime/kernels.py",  # groups of nodes, not pairs
    "psgraph/methods/plus/clustering.py",  # sums of rungs
    "psgraph/methods/plus/noisy_triangles.py",  # sums of rungs; bits of an interval
)


def pair_arithmetic(text: str) -> Iterator[tuple[int, str]]:
    """Lines that pack two ends into a key, or count n(n−1) pairs.

    >>> source = "u = key >> bits\\nv = keys & 0xFFFFFFFF\\nn = each.nodes * (each.nodes - 1) / 2"
    >>> [number for number, _ in pair_arithmetic(source)]
    [1, 2, 3]
    """
    for number, line in enumerate(text.splitlines(), 1):
        if PACKS.search(line) or COUNTS.search(line):
            yield number, line.strip()


def pairs_elsewhere() -> Iterator[str]:
    """Modules other than `graph.kind` that pack keys or count pairs."""
    for path in modules():
        if path.relative_to(SOURCE).as_posix().startswith(NO_PAIRS):
            continue
        for number, line in pair_arithmetic(path.read_text()):
            yield f"{shown(path, number)} {line!r} (use psgraph.graph.kind)"


# ---- the kernel that `make test` covers completely ----


def kernel() -> list[str]:
    """The patterns of files whose every branch is covered."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns: list[str] = settings["tool"]["coverage"]["run"]["include"]
    return patterns


def kernel_files() -> Iterator[str]:
    """Files of the kernel that are gone, and mechanisms that are outside of it."""
    names = {path.relative_to(ROOT).as_posix(): path for path in modules()}
    for pattern in kernel():
        if not any(fnmatch(name, pattern) for name in names):
            yield f"pyproject.toml:1: tool.coverage includes {pattern}, which does not exist"
    for name, path in names.items():
        if any(fnmatch(name, pattern) for pattern in kernel()):
            continue
        if name.startswith(("src/psgraph/audit/", "src/psgraph_lab/")):  # stand-ins, mutants
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and any(
                re.search(r"\bMechanism\b", ast.unparse(base)) for base in node.bases
            ):
                yield f"{shown(path, node.lineno)} add {node.name} to tool.coverage.run.include"


def licence() -> Iterator[str]:
    """A licence file that is not the one the package declares."""
    text = (ROOT / "LICENSE").read_text()
    phrases = ("Apache License\n", "Version 2.0, January 2004", "END OF TERMS AND CONDITIONS")
    if 'license = "Apache-2.0"' not in (ROOT / "pyproject.toml").read_text():
        yield "pyproject.toml:1: the licence is Apache-2.0"
    yield from (f"LICENSE:1: lacks {phrase!r}" for phrase in phrases if phrase not in text)


if __name__ == "__main__":
    sys.exit(main())
