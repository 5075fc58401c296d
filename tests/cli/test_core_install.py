"""What the wheel declares is enough: publishing uses no package that is not a dependency of it."""

from __future__ import annotations

import re
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

from .commands import before_others, psgraph, write_csv

#: Refuses to import what belongs to a distribution that is not among the allowed ones.
BLOCKER = """
import sys
from importlib.abc import MetaPathFinder

class Blocker(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
"""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def required(name: str, found: set[str]) -> set[str]:
    """A distribution and what it requires without any extra, and so on."""
    if name not in found:
        found.add(name)
        for line in distribution(name).requires or []:
            requirement, _, marker = line.partition(";")
            if "extra ==" not in marker and "sys_platform" not in marker:
                each = normal(re.split(r"[^\w.-]", requirement.strip())[0])
                if each in INSTALLED:
                    required(each, found)
    return found


INSTALLED = {normal(each) for names in packages_distributions().values() for each in names}


def test_publishing_and_verifying_need_only_declared_dependencies(tmp_path: Path) -> None:
    allowed = required("psgraph-dp", set())
    assert {"numpy", "numba", "pyarrow"} <= allowed
    assert not {"matplotlib", "pandas", "pytest", "hypothesis"} & allowed
    blocked = {
        module
        for module, names in packages_distributions().items()
        if not allowed & {normal(name) for name in names}
    }
    assert {"matplotlib", "pandas", "pytest"} <= blocked
    (tmp_path / "sitecustomize.py").write_text(BLOCKER.format(blocked=blocked))
    environment = before_others(tmp_path)
    rows = [(t, u, u + 1 + t) for t in (0, 1) for u in range(5)]
    edges = write_csv(tmp_path / "edges.csv", "t,u,v", rows)
    nodes = write_csv(tmp_path / "nodes.csv", "id", [(node,) for node in range(8)])
    command = ("publish", edges, "--roster", nodes, "--epsilon", 1, "--window", 2)
    done = psgraph(*command, "--out", tmp_path / "releases", env=environment)
    assert done.code == 0, done.err
    assert psgraph("verify", tmp_path / "releases", env=environment).code == 0
    assert psgraph("methods", env=environment).code == 0
