"""The files around the code agree with the package: version, licence, supported Pythons."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from psgraph._version import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_citation_names_the_version_of_the_package():
    found = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert found is not None
    assert found[1] == __version__


def test_the_workflow_tests_every_python_version_the_package_declares():
    workflow = (ROOT / ".github/workflows/test.yml").read_text()
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert re.findall(r'"(3\.\d+)"', workflow) == declared
    assert PROJECT["requires-python"] == f">={declared[0]}"
    assert "run: make test" in workflow


def test_hooks_use_the_environment_of_the_project():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    assert re.findall(r"repo: (\S+)", hooks) == ["local"]
    assert all(entry.startswith(".venv/bin/") for entry in re.findall(r"entry: (\S+)", hooks))


def test_the_supported_systems_are_those_that_are_declared_and_tested():
    page = (ROOT / "docs/how-to/install.md").read_text()
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert f"{', '.join(declared[:-1])} and {declared[-1]}" in page
    workflow = (ROOT / ".github/workflows/test.yml").read_text()
    assert "os: [ubuntu-latest, macos-latest]" in workflow
    assert "Tests run on Ubuntu and macOS" in page


def test_the_install_page_lists_every_extra():
    page = (ROOT / "docs/how-to/install.md").read_text()
    table = page[page.index("| extra |") : page.index("A command that lacks an extra")]
    listed = re.findall(
        r"`(\w+)`", " ".join(line.split("|")[1] for line in table.split("\n") if line)
    )
    assert sorted(listed) == sorted(PROJECT["optional-dependencies"])


def test_the_container_runs_as_a_user_and_holds_no_data():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    stages = [number for number, line in enumerate(lines) if line.startswith("FROM ")]
    last = lines[stages[-1] :]
    users = [line.split()[1] for line in last if line.startswith("USER ")]
    assert users == ["psgraph"]
    assert last.index("USER psgraph") < last.index('ENTRYPOINT ["psgraph"]')
    assert not any(re.match(r"(COPY|ADD) \. ", line) for line in lines)
    rules = (ROOT / ".dockerignore").read_text().split("\n")
    assert rules[1] == "*"  # everything is left out, except
    kept = {rule[1:] for rule in rules if rule.startswith("!")}
    sources = [line.split()[1:-1] for line in lines if re.match(r"COPY (?!--from)", line)]
    assert kept == {name for names in sources for name in names}
    assert all((ROOT / name).exists() for name in kept)
