"""A method says itself how it is shown; nothing that shows methods knows one by name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import psgraph
from psgraph.methods.registry import find_method, method_names
from psgraph.pictures.style import ALL_COLOURS, method_look

SOURCE = Path(psgraph.__file__).parent
ROOMS = ("metrics", "pictures", "reports", "trust")


def constants(file: Path) -> set[str]:
    """The strings of a module, without those that stand alone, such as docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone
    }


@pytest.mark.parametrize("room", ROOMS)
def test_no_method_is_known_by_name(room: str) -> None:
    methods = [find_method(name) for name in method_names()]
    names = {word for method in methods for word in (method.name, method.title)}
    names |= {method.summary_chart.renewed for method in methods if method.summary_chart}
    names -= {"psgraph", None}  # the name of the package too
    files = (SOURCE / room).rglob("*.py")
    assert {file.name: named for file in files if (named := names & constants(file))} == {}


def test_the_methods_of_psgraph_use_colours_of_the_house() -> None:
    assert {method_look(name).colour for name in method_names()} <= set(ALL_COLOURS)
