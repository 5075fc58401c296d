"""The public names: all there, documented, and imported only when used."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import psgraph as pg
from psgraph import errors

NAMES = [
    "BudgetError",
    "BudgetExceeded",
    "Certificate",
    "DER",
    "DataError",
    "InvalidArgument",
    "LDPGen",
    "Method",
    "Owner",
    "PSGraph",
    "PSGraphPlus",
    "PrivGraph",
    "PrivHRG",
    "PsgraphError",
    "Publisher",
    "Release",
    "Roster",
    "Snapshot",
    "SyntheticGraph",
    "TmF",
    "TwoSidedRoster",
    "WEventPrivacy",
    "__version__",
    "compare",
    "demo_stream",
    "evaluate",
    "expected_errors",
    "export_releases",
    "plan",
    "prepare",
    "publish",
    "read_releases",
    "read_roster",
    "read_stream",
    "verify",
]


def test_the_public_names():
    """Written out here, so that a name can't come or go by accident."""
    assert sorted(pg.__all__) == sorted(NAMES)
    assert dir(pg) == sorted(pg.__all__)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "__version__"])
def test_every_name_resolves_and_is_documented(name):
    value = getattr(pg, name)
    assert inspect.getdoc(value)
    assert getattr(pg, name) is value


def test_lazy_names_are_the_public_ones():
    assert {*pg._HOME, "__version__"} == set(pg.__all__)


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        pg.nonsense  # noqa: B018


def loaded_after(statement: str) -> set[str]:
    program = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_psgraph_is_light():
    modules = loaded_after("import psgraph; psgraph.__version__; dir(psgraph)")
    heavy = {"numpy", "numba", "pyarrow", "scipy", "sknetwork", "matplotlib", "networkx", "rich"}
    assert not heavy & modules


def test_the_privacy_kernel_stands_alone():
    """It needs NumPy, numba and cryptography; none of psgraph's graphs, files or methods."""
    modules = loaded_after("import psgraph.privacy.budget")
    allowed = ("psgraph.privacy", "psgraph.errors", "psgraph._runtime", "psgraph._version")
    others = {name for name in modules if name.startswith("psgraph.")}
    assert not [name for name in others if not name.startswith(allowed)]
    assert not {"pyarrow", "sknetwork", "networkx", "opendp"} & modules


def test_the_tree_of_errors_is_the_one_drawn():
    """The drawing in the module's docstring shows every class, below its parent."""
    classes = {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.PsgraphError)
    }
    drawing = [line for line in (errors.__doc__ or "").splitlines() if "(exit" in line]
    depths: dict[int, str] = {0: "PsgraphError"}
    drawn = {"PsgraphError"}
    for line in drawing:
        name = line.replace("│", " ").replace("├──", "   ").replace("└──", "   ").split()[0]
        depth = (line.index(name) - 4) // 4
        depths[depth] = name
        drawn.add(name)
        assert depths[depth - 1] in {base.__name__ for base in classes[name].__bases__}
        assert f"(exit {classes[name].exit_code})" in line
    assert drawn == set(classes)
    assert drawn | {"exact_decimal", "install_line"} == set(errors.__all__)


def test_typed():
    assert (Path(pg.__file__).parent / "py.typed").exists()
