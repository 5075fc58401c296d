"""Commands that other packages add by the entry-point group ``psgraph.commands``."""

from __future__ import annotations

from pathlib import Path

import pytest

from .commands import before_others, psgraph

_MODULE = """
import click

@click.command("wave", short_help="Wave to the reader.")
def wave():
    click.echo("hello from a plug-in")

not_a_command = 17
"""


@pytest.fixture
def plugin(tmp_path: Path) -> dict[str, str]:
    """An installed distribution with one good command and three that can't be loaded."""
    (tmp_path / "waving.py").write_text(_MODULE)
    (tmp_path / "raising.py").write_text("raise RuntimeError('SECRET-4711')\n")
    info = tmp_path / "waving-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: waving\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[psgraph.commands]\n"
        "wave = waving:wave\n"
        "gone = waving_of_yesterday:command\n"
        "number = waving:not_a_command\n"
        "raising = raising:command\n"
        "plan = waving:wave\n"
    )
    return before_others(tmp_path)


def test_a_command_of_another_package_is_listed_and_runs(plugin: dict[str, str]) -> None:
    assert "Wave to the reader." in psgraph("--help", env=plugin).out
    waved = psgraph("wave", env=plugin)
    assert (waved.code, waved.out) == (0, "hello from a plug-in\n")


def test_help_lists_broken_commands_and_says_that_they_cannot_be_loaded(
    plugin: dict[str, str],
) -> None:
    shown = psgraph("--help", env=plugin)
    assert shown.code == 0
    lines = {line.split()[0]: line for line in shown.out.splitlines() if line.strip()}
    assert "can't be loaded (ModuleNotFoundError in waving)" in lines["gone"]
    assert "can't be loaded (TypeError in waving)" in lines["number"]
    assert "can't be loaded (RuntimeError in waving)" in lines["raising"]
    assert "SECRET" not in shown.text


@pytest.mark.parametrize("arguments", [(), ("file", "--option", "7")], ids=str)
def test_running_a_broken_command_names_its_package(
    plugin: dict[str, str], arguments: tuple[str, ...]
) -> None:
    failed = psgraph("gone", *arguments, env=plugin)
    assert failed.code == 1
    assert "the command gone can't be loaded" in failed.err
    assert "Update the package waving" in failed.err
    assert "Traceback" not in failed.err


def test_a_plugin_cannot_replace_one_of_psgraphs_own_commands(plugin: dict[str, str]) -> None:
    shown = psgraph("plan", "--nodes", 10, "--epsilon", 1, "--window", 2, env=plugin)
    assert shown.code == 0
    assert "hello" not in shown.out
