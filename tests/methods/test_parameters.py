"""Parameters are read by the constructor's annotations, and constructors refuse other types."""

from __future__ import annotations

import inspect
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from psgraph.errors import InvalidArgument
from psgraph.methods.der import DER
from psgraph.methods.ldpgen import LDPGen
from psgraph.methods.parameters import checked_integer, read_settings
from psgraph.methods.privgraph import PrivGraph
from psgraph.methods.privhrg import PrivHRG
from psgraph.methods.psgraph import PSGraph
from psgraph.methods.registry import find_method, method_names
from psgraph.methods.tmf import TmF


@pytest.mark.parametrize("text", ["false", "False", "FALSE", " false "])
def test_false_is_false(text: str) -> None:
    assert PrivHRG.from_settings({"mcmc": text}).mcmc is False
    assert LDPGen.from_settings({"ldp_scale": text}).caveat is None


@pytest.mark.parametrize("text", ["no", "0", "off", "", "Falsch", "1", "yes"])
def test_a_boolean_is_true_or_false_and_nothing_else(text: str) -> None:
    with pytest.raises(InvalidArgument, match="ldp_scale must be true or false"):
        LDPGen.from_settings({"ldp_scale": text})


def test_every_kind_of_parameter_is_read() -> None:
    method = PSGraph.from_settings(
        {"threshold": "1/3", "fusion": "false", "supernode_size": "7", "between": "symmetric"}
    )
    assert method.threshold == Fraction(1, 3)
    assert (method.fusion, method.supernode_size, method.between) == (False, 7, "symmetric")
    assert TmF.from_settings({}).parameters() == TmF().parameters()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"colour": "red"}, "colour: there is no such parameter\nKnown parameters: order, grid."),
        ({"grid": "many"}, "grid must be an integer, not 'many'"),
        ({"grid": "2.0"}, "grid must be an integer, not '2.0'"),
        ({"grid": "1"}, "grid must be an integer from 2 to 256, not 1"),
        ({"order": "size"}, "order must be 'random' or 'degrees', not 'size'"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(settings: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        DER.from_settings(settings)
    assert str(caught.value) == message


def test_a_parameter_that_text_can_not_give_is_refused() -> None:
    class Odd:
        def __init__(self, *, table: dict[str, int], named: str = "", bare=None) -> None:
            pass

    assert read_settings(Odd, {"named": "x"}) == {"named": "x"}
    for name in ("table", "bare"):
        with pytest.raises(InvalidArgument, match=f"{name} can't be given as text"):
            read_settings(Odd, {name: "1"})


FLAGS = [
    (find_method(name), parameter)
    for name in method_names()
    for parameter, value in find_method(name)().parameters().items()
    if isinstance(value, bool)
]


@pytest.mark.parametrize(("kind", "flag"), FLAGS)
@pytest.mark.parametrize("value", ["False", "no", 0, 1, None, "", np.array([True])])
def test_a_constructor_refuses_what_is_not_a_boolean(kind: Any, flag: str, value: object) -> None:
    with pytest.raises(InvalidArgument, match=f"{flag} must be True or False"):
        kind(**{flag: value})


@pytest.mark.parametrize("value", ["7", 7.0, True, None, 0])
@pytest.mark.parametrize("kind", [PSGraph, PrivGraph])
def test_a_constructor_refuses_what_is_not_an_integer(kind: Any, value: object) -> None:
    with pytest.raises(InvalidArgument, match="supernode_size must be an integer of at least 1"):
        kind(supernode_size=value)


def test_a_numpy_integer_is_an_integer() -> None:
    assert type(checked_integer("x", np.int32(3), least=1)) is int


@pytest.mark.parametrize("name", method_names())
def test_defaults_survive_as_text(name: str) -> None:
    """What `psgraph methods` shows can be given back with ``--set``."""
    kind = find_method(name)
    shown = {
        parameter: str(value).lower() if isinstance(value, bool) else str(value)
        for parameter, value in kind().parameters().items()
    }
    assert kind.from_settings(shown).parameters() == kind().parameters()
    assert set(shown) | kind.added_parameters == set(inspect.signature(kind).parameters)
