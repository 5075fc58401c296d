"""Publishing a whole stream with one call."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any

from psgraph._runtime.paths import as_path
from psgraph.engines.base import Engine
from psgraph.methods import DEFAULT_METHOD
from psgraph.methods.choosing import MethodLike, choose_method
from psgraph.methods.memory import memory_note
from psgraph.privacy.guarantee import EpsilonLike, WEventPrivacy
from psgraph.publication.publisher import Publisher
from psgraph.publication.reading import Releases, read_releases
from psgraph.streams import read_stream
from psgraph.streams.overflow import Overflow

__all__ = ["publish"]


def publish(
    source: str | PathLike[str] | Iterable[Any] | Any,
    *,
    epsilon: EpsilonLike,
    window: int,
    out: str | PathLike[str],
    method: MethodLike = DEFAULT_METHOD,
    seed: int | None = None,
    not_private: bool = False,
    large_epsilon: bool = False,
    engine: Engine | None = None,
    progress: Callable[[int, int | None], object] | None = None,
    **reading: Any,
) -> Releases:
    """Publish a stream to a directory and return its releases.

    Calling it again costs nothing: what is sealed in the directory's ledger is handed back, and
    only new timestamps are measured. Input is read once; a snapshot that is larger than memory is
    kept in scratch files meanwhile. `Publisher` is for more control.

    Parameters
    ----------
    source
        What `read_stream` takes: a path, a data frame, a list of graphs, a stream.
    epsilon, window
        The guarantee: over any `window` consecutive timestamps, all releases are private with ε.
    out
        The directory of the releases.
    method
        A method object, a class or a name.
    seed, not_private, large_epsilon, engine, progress
        As in `Publisher`.
    **reading
        Options of `read_stream`: ``roster``, ``every``, ``times`` and so on.

    Examples
    --------
    >>> import tempfile
    >>> from psgraph.streams.demo import demo_stream
    >>> stream = demo_stream(nodes=300, timestamps=2)
    >>> releases = publish(stream, epsilon=1, window=2, out=tempfile.mkdtemp())
    >>> releases, releases[1].certificate.window_spent <= 1
    (Releases(2 timestamps), True)
    """
    guarantee, chosen = WEventPrivacy(epsilon, window), choose_method(method)
    directory = as_path(out, "out")
    with Overflow() as overflow:
        stream = read_stream(source, store=overflow, **reading)
        if told := memory_note(chosen, nodes=stream.nodes, prepared=stream.prepared):
            warnings.warn(told, stacklevel=2)
        with Publisher(
            chosen,
            guarantee,
            out=directory,
            seed=seed,
            not_private=not_private,
            large_epsilon=large_epsilon,
            engine=engine,
            progress=progress,
        ) as publisher:
            deque(publisher.publish_all(stream), maxlen=0)
    return read_releases(directory)
