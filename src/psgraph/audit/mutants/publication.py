"""Mutants of the publication: sealing, handing back, certificates and files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from psgraph.audit.mutants.patching import Mutant, Patch
from psgraph.privacy.randomness import RandomSource
from psgraph.publication import publisher, synthesis
from psgraph.publication.handing_back import HandingBack
from psgraph.publication.measuring import Measuring
from psgraph.publication.publisher import Publisher

__all__ = ["PUBLICATION"]


def _fresh_noise_on_replay() -> tuple[Patch, ...]:
    def publish(self: Any, snapshot: Any, *, timestamp: int | None = None, times: Any = None) -> Any:
        number = self._cursor if timestamp is None else timestamp
        self._cursor = number + 1
        if number < self._accountant.timestamps:  # measured again, and shown
            measured = self._measuring.measure(
                snapshot, None, type(self._accountant)(self.guarantee), times=times
            )
            again = self._history.seal_of(number) if hasattr(self._history, "seal_of") else None
            del again
            release = self._earlier.release(number, snapshot)
            rng_seed = measured.seed
            del rng_seed
            graph = self.method.synthesise(measured.state, _rng(measured.seed), _engine())
            path = self._directory.graph_path(number)
            path.write_bytes(repr(graph.u.tolist()).encode())
            return release
        return self._publish_next(snapshot, times)

    return (Patch(Publisher, "publish", publish),)


def _rng(seed: int) -> Any:
    import numpy as np

    return np.random.Generator(np.random.PCG64(seed))


def _engine() -> Any:
    from psgraph.engines.local import LocalEngine

    return LocalEngine()


def _other_data_accepted() -> tuple[Patch, ...]:
    real = HandingBack.release

    def release(self: Any, number: int, snapshot: Any) -> Any:
        try:
            return real(self, number, snapshot)
        except Exception:
            return self._synthesis  # whatever: it was not refused

    return (Patch(HandingBack, "release", release),)


def _fresh_synthesis_seed() -> tuple[Patch, ...]:
    real = synthesis.Synthesis.release

    def release(self: Any, seal: Any, *rest: Any) -> Any:
        import dataclasses

        fresh = RandomSource.secure().bits(63)
        return real(self, dataclasses.replace(seal, seed=fresh), *rest)

    return (Patch(synthesis.Synthesis, "release", release),)


def _shown_before_sealed() -> tuple[Patch, ...]:
    real = publisher.Publisher._publish_next

    def publish_next(self: Any, snapshot: Any, times: Any) -> Any:
        (self._directory.path).mkdir(parents=True, exist_ok=True)
        (self._directory.path / f"{self._accountant.timestamps:06d}.json").write_text("early")
        return real(self, snapshot, times)

    return (Patch(publisher.Publisher, "_publish_next", publish_next),)


def _count_in_the_times() -> tuple[Patch, ...]:
    real = Measuring.measure

    def measure(self: Any, snapshot: Any, state: Any, accountant: Any, **options: Any) -> Any:
        options["times"] = f"of {snapshot.u.size} edges"
        return real(self, snapshot, state, accountant, **options)

    return (Patch(Measuring, "measure", measure),)


def _files_in_the_order_of_the_data() -> tuple[Patch, ...]:
    real = publisher.ReleaseDirectory.write

    def write(self: Any, graph: Any, nodes: Any, certificate: Any) -> None:
        real(self, graph, nodes, certificate)
        (self.path / f"{certificate.timestamp:06d}.size").write_bytes(b"x" * _latest[0])

    _latest = [0]
    measure = Measuring.measure

    def measured(self: Any, snapshot: Any, *rest: Any, **options: Any) -> Any:
        _latest[0] = int(snapshot.u.size)
        return measure(self, snapshot, *rest, **options)

    return (
        Patch(publisher.ReleaseDirectory, "write", write),
        Patch(Measuring, "measure", measured),
    )


_Patches = Callable[[], tuple[Patch, ...]]

PUBLICATION = (
    Mutant("a replay draws fresh noise", "psgraph", _fresh_noise_on_replay, ("durability",)),
    Mutant("other data is accepted for a published timestamp", "psgraph", _other_data_accepted, ("durability",)),
    Mutant("a lost release is drawn with a fresh seed", "psgraph", _fresh_synthesis_seed, ("durability",)),
    Mutant("a release is shown before it is sealed", "psgraph", _shown_before_sealed, ("durability",)),
    Mutant("a certificate holds the true edge count", "psgraph", _count_in_the_times, ("directories",)),
    Mutant("a file is as long as the data", "psgraph", _files_in_the_order_of_the_data, ("directories",)),
)
