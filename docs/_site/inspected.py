"""Griffe extension: show functions whose parameters are made when psgraph is imported.

`psgraph.read_stream` takes its parameters and their paragraphs from the table of input options, so
its source shows neither.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import griffe

FUNCTIONS = ("psgraph.streams.input.read_stream",)


class Inspected(griffe.Extension):
    """Replaces parameters and docstrings by those of the imported functions."""

    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        if func.path not in FUNCTIONS:
            return
        module, _dot, name = func.path.rpartition(".")
        found = getattr(import_module(module), name)
        func.parameters = griffe.Parameters(
            *(_parameter(each) for each in inspect.signature(found).parameters.values())
        )
        if func.docstring is not None:
            func.docstring.value = inspect.cleandoc(found.__doc__)


def _parameter(parameter: inspect.Parameter) -> griffe.Parameter:
    default = parameter.default
    return griffe.Parameter(
        parameter.name,
        annotation=str(parameter.annotation),
        kind=griffe.ParameterKind[parameter.kind.name.lower()],
        default=None if default is inspect.Parameter.empty else repr(default),
    )
