"""Documentation is tested like code: examples run, and everything it names exists."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import click
import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("tutorials", "how-to", "explanation", "reference")
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("proofs/*.md")]
    + [path for part in PARTS for path in ROOT.glob(f"docs/{part}/**/*.md")]
)
TEXT = {".cfg", ".json", ".md", ".py", ".sh", ".toml", ".txt", ".yaml", ".yml", ""}
FOLDERS = (".ci", ".github", "benchmarks", "docs", "proofs", "src", "tests")

FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(path: Path, *languages: str) -> list[str]:
    """Fenced blocks whose info string is exactly one of `languages`."""
    return [body for info, body in FENCE.findall(path.read_text()) if info.strip() in languages]


def prose(path: Path) -> str:
    """A document without its fenced blocks."""
    return FENCE.sub("", path.read_text())


def repository_files() -> list[Path]:
    found = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        found += (ROOT / folder).rglob("*")
    return [
        path
        for path in found
        if path.is_file()
        and path.suffix in TEXT
        and "__pycache__" not in path.parts
        and path.name != ".git"  # in a linked worktree a file that points to the repository
        and not path.name.startswith(".coverage")
    ]


# ---- examples ----

WITH_EXAMPLES = [path for path in DOCUMENTS if blocks(path, "python")]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=name)
def test_python_examples_run(path, tmp_path):
    """Run all blocks of a document in order, in an empty directory, as a reader would.

    A block that can't run on its own is fenced as ``python no-run`` and only has to compile.
    """
    script = tmp_path / "example.py"
    script.write_text("\n".join(blocks(path, "python")))
    (tmp_path / "empty").mkdir()
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path / "empty",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_examples_that_are_not_run_compile(path):
    for block in blocks(path, "python no-run"):
        compile(block, name(path), "exec")


def test_the_documents_have_examples():
    assert {"README.md", "docs/tutorials/your-own-method.md"} <= {
        name(path) for path in WITH_EXAMPLES
    }


def test_the_example_of_a_method_is_short_and_complete():
    first = blocks(ROOT / "docs/tutorials/your-own-method.md", "python")[0]
    code = [line for line in first.splitlines() if line.strip()]
    assert len(code) <= 45
    for step in ("plan", "measure", "synthesise", "summary"):
        assert f"def {step}(" in first


# ---- commands ----


@cache
def commands() -> dict[str, click.Command]:
    from psgraph.cli import root

    context = click.Context(root)
    found = {each: root.get_command(context, each) for each in root.list_commands(context)}
    return {each: command for each, command in found.items() if command is not None}


def command_lines(path: Path) -> list[list[str]]:
    """The lines of shell blocks that call psgraph, without comments and without what is printed."""
    lines = "\n".join(blocks(path, "sh", "bash")).replace("\\\n", " ").splitlines()
    console = "\n".join(blocks(path, "console")).replace("\\\n", " ").splitlines()
    lines += [line.removeprefix("$ ") for line in console if line.startswith("$ ")]
    split = [shlex.split(line, comments=True) for line in lines]
    return [words[1:] for words in split if words[:1] == ["psgraph"]]


def test_commands_named_in_the_readme_are_in_the_help():
    done = subprocess.run(
        [sys.executable, "-m", "psgraph", "--help"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    listed = set(re.findall(r"^  (\w+) ", done.stdout.partition("Commands:")[2], re.MULTILINE))
    text = (ROOT / "README.md").read_text()
    named = set(re.findall(r"\bpsgraph ([a-z]+)\b", text)) - {"as"}  # import psgraph as pg
    assert named >= {"publish", "plan", "compare"}
    assert named <= listed


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_command_lines_are_valid(path):
    for words in command_lines(path):
        assert words[0] in commands(), f"{name(path)}: there is no psgraph {words[0]}"
        command = commands()[words[0]]
        if isinstance(command, click.Group):
            assert words[1] in command.commands, f"{name(path)}: no psgraph {words[0]} {words[1]}"
            command = command.commands[words[1]]
        options = {
            option
            for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts)
        } | {"--help", "-h"}
        unknown = {word.partition("=")[0] for word in words if word.startswith("--")} - options
        assert not unknown, f"{name(path)}: psgraph {words[0]} has no {unknown}"


def test_command_lines_are_found():
    assert len(command_lines(ROOT / "README.md")) >= 4


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_make_targets_exist(path):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z]+)`", path.read_text()))
    for block in blocks(path, "sh", "bash", "console"):
        named |= set(re.findall(r"^make ([a-z]+)", block, re.MULTILINE))
    assert named <= targets


# ---- links and references ----


def anchors(path: Path) -> set[str]:
    """Anchors of a document's headings, as GitHub derives them, and of the names it documents."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    names = re.findall(r"^::: (\S+)$", path.read_text(), re.MULTILINE)
    return {heading.strip().replace(" ", "-") for heading in kept} | set(names)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_links_resolve(path):
    for link in LINK.findall(prose(path)):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        found = (path.parent / target) if target else path
        assert found.exists(), f"{name(path)} links to {link}, which does not exist"
        if anchor:
            assert anchor in anchors(found), f"{name(path)} links to {link}: no such heading"


@pytest.mark.parametrize("folder", ["src", "tests", "proofs", "docs"])
def test_documents_named_in_code_exist(folder):
    for path in (ROOT / folder).rglob("*"):
        if path.suffix not in (".py", ".md") or path == Path(__file__):
            continue
        for reference in re.findall(r"\b(?:proofs|docs)/[\w/-]+\.md\b", path.read_text()):
            assert (ROOT / reference).exists(), f"{name(path)} refers to {reference}"


def test_every_proof_is_in_the_index():
    index = set(LINK.findall((ROOT / "proofs/README.md").read_text()))
    notes = {path.name for path in (ROOT / "proofs").glob("*.md")} - {"README.md"}
    assert notes == {link for link in index if link.endswith(".md") and "/" not in link}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_code_and_tests_named_in_documents_exist(path):
    text = path.read_text()
    for file, test in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text):
        assert (ROOT / file).exists(), f"{name(path)} names {file}"
        if test:
            assert f"def {test}(" in (ROOT / file).read_text(), f"{name(path)} names {test}"
    for folder in re.findall(r"`(tests/[\w/]+/)`", text):
        assert any((ROOT / folder).glob("*.py")), f"{name(path)} names {folder}"
    for file in re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.py)`", text):
        candidates = (ROOT / "src/psgraph" / file, ROOT / file, *(ROOT / "src").rglob(file))
        assert any(candidate.exists() for candidate in candidates), f"{name(path)} names {file}"


@cache
def identifiers() -> frozenset[str]:
    sources = (path.read_text() for path in (ROOT / "src").rglob("*.py"))
    return frozenset(word for source in sources for word in re.findall(r"[^\W\d]\w*", source))


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_names_in_documents_are_names_in_the_code(path):
    """`Class.method` and `function(` in backticks, inside tables and outside."""
    for code in re.findall(r"`([^`\n]+)`", prose(path)):
        dotted = re.fullmatch(r"(\w+(?:\.\w+)+)(?:\(.*\))?", code)
        called = re.fullmatch(r"(\w+)\(.*\)", code)
        if not (dotted or called) or re.search(
            r"\.(py|md|toml|yml|txt|json|sqlite|\w*parquet)$", code
        ):
            continue
        parts = (dotted or called)[1].split(".")  # type: ignore[index]
        if parts[0] in ("pg", "nodes", "edges", "calls", "my_package"):
            continue
        missing = set(parts) - identifiers()
        assert not missing, f"{name(path)}: `{code}` is not in the code any more"


def test_names_in_the_notation_table_are_names_in_the_code():
    rows = [
        line.split("|")[2]
        for line in (ROOT / "docs/reference/notation.md")
        .read_text()
        .replace(r"\|", "")
        .splitlines()
        if line.startswith("| ") and not line.startswith(("| paper", "|---"))
    ]
    assert len(rows) > 25
    for cell in rows:
        names = re.findall(r"[^\W\d]\w+", " ".join(re.findall(r"`([^`]+)`", cell)))
        assert set(names) <= identifiers(), cell


# ---- nothing about the machine it was developed on ----


def test_no_paths_or_hosts_of_a_machine():
    paths = re.compile(r"(?<![\w./~])/(?:home|root|Users|work|mnt|opt|srv)/\w")
    hosts = re.compile(
        r"--(?:extra-)?index-url|trusted-host|(?:^|[/.])(?:artifactory|nexus|devpi|registry)[./]\w"
        r"|https?://[\w.:-]+/\S*\bsimple\b",
        re.IGNORECASE | re.MULTILINE,
    )
    for path in repository_files():
        if path == Path(__file__):
            continue
        text = path.read_text(errors="replace")
        for pattern in (paths, hosts):
            found = pattern.search(text)
            assert found is None, f"{name(path)} contains {found[0]!r}"
