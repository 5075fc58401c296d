"""One timestamp's part in the search for communities: whether to ask, and what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from psgraph._runtime.arrays import Integers
from psgraph.engines.base import Edges
from psgraph.methods.plus.communities import (
    BLOCKS,
    Communities,
    Search,
    Sizes,
    community_share,
    run_passes,
)
from psgraph.methods.plus.decision import bar_without_communities, decide
from psgraph.methods.plus.degrees import DegreeStep
from psgraph.methods.plus.realisation import Target, realise
from psgraph.methods.plus.schedule import Shares, with_search
from psgraph.methods.plus.state import PlusMeasurement, PlusState, Purpose, SizeReadings

__all__ = ["known_communities", "next_search", "search_shares"]


REHEARSALS = 4
MANY_EDGES = 100_000  # from here on one rehearsal says enough: they hardly differ


def search_shares(
    state: PlusState | None,
    shares: Shares,
    nodes: int,
    noisy_edges: int,
    noisy_curve: Integers | None,
    *,
    hubs: bool,
) -> Shares:
    """Return the shares of a timestamp with those of a search, if one is to be made.

    Privacy: all arguments are public or released; the sum of the shares does not change.
    """
    again = state is not None and state.search.again
    if not (shares.opens_window or again) or (state is not None and state.mode == "steady"):
        return shares
    connected = nodes if noisy_curve is None or not noisy_curve.size else int(noisy_curve[0])
    share = community_share(
        Search() if state is None else state.search,
        Sizes(nodes, noisy_edges, connected),
        window=shares.timestamp // shares.window,
        granted=shares.on_nodes,
        node_window=shares.node_window,
    )
    if not share:
        return shares
    blocks = BLOCKS * share
    return with_search(shares, growth=share - blocks, blocks=blocks, hubs=hubs)


def known_communities(state: PlusState | None, sizes: SizeReadings) -> Communities | None:
    """Return the communities of the last timestamp on the roster of this one."""
    if state is None or state.search.found is None:
        return None
    return state.search.found.on(sizes.roster, sizes.random(Purpose.NEW_MEMBERS))


def next_search(
    state: PlusState | None,
    measurement: PlusMeasurement,
    step: DegreeStep,
    plain: Callable[[], Target],
) -> Search:
    """Return where the search stands after this timestamp.

    Where degrees are asked at every timestamp, communities are dropped when a window opens: there
    is nothing to keep them up to date with.

    Parameters
    ----------
    plain
        Returns what a graph without communities should look like, if a search was made.
    """
    sizes, readings, shares = measurement.sizes, measurement.communities, measurement.sizes.shares
    search = Search() if state is None else state.search
    found = known_communities(state, sizes)
    if readings is None:
        if shares.opens_window and state is not None and state.mode == "steady":
            return Search()
        return replace(search, found=found, again=False)
    sealed = iter(readings.noisy_rows)
    progress = run_passes(found, step.order, step.wanted, shares.growth, lambda *_: next(sealed))
    bar = bar_without_communities(
        _without_communities(plain(), sizes),
        step.order,
        step.wanted,
        labels=progress.plan.labels,
        growth=shares.growth,
        blocks=shares.blocks,
        rng=sizes.random(Purpose.REHEARSED_PASSES),
    )
    return decide(
        search,
        Communities.after(progress, sizes.roster, found),
        readings.noisy_blocks,
        bar,
        degrees=step.wanted,
        blocks=shares.blocks,
        window=shares.timestamp // shares.window,
    )


def _without_communities(plain: Target, sizes: SizeReadings) -> Iterator[Edges]:
    rehearsals = REHEARSALS if plain.edge_count < MANY_EDGES else 1
    for number in range(rehearsals):
        yield realise(plain, rng=sizes.random(Purpose.REHEARSED_GRAPHS, number))
