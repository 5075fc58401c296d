"""Who draws the noise of a stream, and from which random words."""

from __future__ import annotations

from psgraph.errors import InvalidArgument
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import OpenDPSampler, Sampler

__all__ = ["check_noise", "make_sampler"]

_SAMPLERS: dict[str, type[Sampler]] = {"exact": Sampler, "opendp": OpenDPSampler}


def check_noise(noise: str, seed: int | None) -> None:
    """Refuse a sampler that does not exist, or that can't be seeded."""
    if noise not in _SAMPLERS:
        known = " or ".join(map(repr, _SAMPLERS))
        raise InvalidArgument(f"noise must be {known}, not {noise!r}")
    if noise == "opendp" and seed is not None:
        raise InvalidArgument("OpenDP draws from the operating system and can't be seeded")


def make_sampler(noise: str, seed: int | None, timestamp: int) -> Sampler:
    """Make the source of all noise of a timestamp.

    Privacy: without a seed the words come from the operating system. proofs/randomness.md.
    """
    if seed is None:
        return _SAMPLERS[noise](RandomSource.secure())
    return _SAMPLERS[noise](RandomSource.seeded(seed, timestamp=timestamp))
