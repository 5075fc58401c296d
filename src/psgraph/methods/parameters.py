"""Parameters of methods: checked in constructors, and read from text by their annotations."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from psgraph.errors import InvalidArgument

__all__ = ["checked_choice", "checked_flag", "checked_integer", "read_settings"]

Choice = TypeVar("Choice", bound=str)


def checked_flag(name: str, value: bool) -> bool:
    """Return a boolean, and refuse anything that is merely truthy.

    >>> checked_flag("mcmc", "False")
    Traceback (most recent call last):
    psgraph.errors.InvalidArgument: mcmc must be True or False, not 'False'
    """
    if not isinstance(value, bool):
        raise InvalidArgument(f"{name} must be True or False, not {value!r}")
    return value


def checked_integer(name: str, value: int, *, least: int, most: int | None = None) -> int:
    """Return an integer from `least` to `most`.

    >>> checked_integer("grid", 300, least=2, most=256)
    Traceback (most recent call last):
    psgraph.errors.InvalidArgument: grid must be an integer from 2 to 256, not 300
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least or (most is not None and number > most):
        span = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise InvalidArgument(f"{name} must be an integer {span}, not {value!r}")
    return number


def checked_choice(name: str, value: Choice, kind: Any) -> Choice:
    """Return one of the values of a `Literal` type.

    >>> checked_choice("filter", "quick", Literal["exact", "linear"])
    Traceback (most recent call last):
    psgraph.errors.InvalidArgument: filter must be 'exact' or 'linear', not 'quick'
    """
    choices = get_args(kind)
    if value not in choices:
        raise InvalidArgument(f"{name} must be {_listed(choices)}, not {value!r}")
    return value


def read_settings(kind: type, settings: Mapping[str, str]) -> dict[str, Any]:
    """Read the parameters of a class's constructor from text, each by its annotation.

    Parameters
    ----------
    kind
        A class whose constructor takes ``bool``, ``int``, ``str`` and ``Literal`` parameters, and
        exact numbers (`psgraph.privacy.guarantee.EpsilonLike`), which it reads itself.
    settings
        Names and values as they were typed.

    Examples
    --------
    >>> from psgraph.methods.privhrg import PrivHRG
    >>> read_settings(PrivHRG, {"mcmc": "False", "steps_per_node": "10"})
    {'mcmc': False, 'steps_per_node': 10}
    """
    known = list(inspect.signature(kind).parameters)
    for name in settings:
        if name not in known:
            raise InvalidArgument(
                f"{name}: there is no such parameter\n"
                f"Known parameters: {', '.join(known) or 'none'}."
            )
    hints = get_type_hints(cast("Any", kind).__init__)
    return {name: _read(name, text.strip(), hints.get(name)) for name, text in settings.items()}


def _read(name: str, text: str, hint: Any) -> Any:
    """Read one value; what the text means is decided by the annotation, never by its look."""
    if hint is bool:
        if text.lower() not in ("true", "false"):
            raise InvalidArgument(f"{name} must be true or false, not {text!r}")
        return text.lower() == "true"
    if hint is int:
        try:
            return int(text)
        except ValueError:
            raise InvalidArgument(f"{name} must be an integer, not {text!r}") from None
    if get_origin(hint) is Literal:
        return checked_choice(name, text, hint)
    if hint is str or Fraction in get_args(hint):  # the constructor reads exact numbers from text
        return text
    raise InvalidArgument(
        f"{name} can't be given as text\nAnnotate it in the method's constructor as bool, int, "
        "str, Literal or EpsilonLike, or pass it in Python."
    )


def _listed(choices: tuple[Any, ...]) -> str:
    """``'a', 'b' or 'c'``."""
    *first, last = (repr(choice) for choice in choices)
    return f"{', '.join(first)} or {last}" if first else last
