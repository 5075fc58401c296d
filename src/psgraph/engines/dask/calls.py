"""How a task gets its inputs: small ones with it, large ones from where they are on the workers."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import Future

__all__ = ["Call", "Remote", "call"]


class Remote:
    """Stands for a value on the workers. Inside a task it is that value.

    `as_read` stands for a function that returns it instead: how tasks read parts.
    """

    as_read = False

    def __init__(self, future: Future) -> None:
        self.future = future


class Call:
    """The pickled inputs of a task. It has nothing to show: Dask writes arguments to its log."""

    __slots__ = ("content",)

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __repr__(self) -> str:
        return "<inputs of a task of psgraph>"

    def open(self, values: tuple[Any, ...]) -> Any:
        """Return the inputs; `values` are those that stayed on the workers."""
        return _Unpickler(self.content, values).load()


def call(inputs: Any) -> tuple[Call, list[Future]]:
    """Pickle the inputs of a task; `Remote` values in them become futures the task waits for."""
    buffer = io.BytesIO()
    pickler = _Pickler(buffer)
    pickler.dump(inputs)
    return Call(buffer.getvalue()), pickler.futures


class _Pickler(pickle.Pickler):
    def __init__(self, buffer: io.BytesIO) -> None:
        super().__init__(buffer, protocol=5)
        self.futures: list[Future] = []

    def persistent_id(self, obj: Any) -> tuple[int, bool] | None:
        if not isinstance(obj, Remote):
            return None
        self.futures.append(obj.future)
        return len(self.futures) - 1, obj.as_read


class _Unpickler(pickle.Unpickler):
    def __init__(self, content: bytes, values: tuple[Any, ...]) -> None:
        super().__init__(io.BytesIO(content))
        self._values = values

    def persistent_load(self, pid: tuple[int, bool]) -> Any:
        number, as_read = pid
        value = self._values[number]
        return _reading(value) if as_read else value


def _reading(value: Any) -> Callable[[], Any]:
    return lambda: value
