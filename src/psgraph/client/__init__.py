"""A client of ``psgraph serve``: post snapshots, read releases, check what was downloaded.

::

    from psgraph.client import Client

    with Client("https://psgraph.example.org", token=secret) as curator:
        curator.create_stream("calls", epsilon="1", window=30)
        curator.put_roster("calls", "nodes.csv")
        curator.push("calls", 0, "2024-01-01.parquet", time="2024-01-01")
        curator.wait("calls", 0)

    with Client("https://psgraph.example.org", token=another) as analyst:
        analyst.pull("calls", "releases")                    # then pg.read_releases("releases")

`AsyncClient` has the same methods, to await. Values are the models of the service
(`psgraph.service.schemas`). Idempotent requests are repeated a few times if the connection fails.
Needs the extra ``client``.
"""

from __future__ import annotations

from psgraph._runtime.extras import require_client

require_client()

from psgraph.client.client import AsyncClient, Client  # noqa: E402
from psgraph.client.mirror import Pulled  # noqa: E402

__all__ = ["AsyncClient", "Client", "Pulled"]
