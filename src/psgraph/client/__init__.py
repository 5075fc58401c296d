"""A client of ``psgraph serve``: post snapshots, read releases, check what was downloaded.

::

    from psgraph.client import Client

    curator = Client("https://psgraph.example.org", token=secret)
    curator.create_stream("calls", epsilon="1", window=30)
    curator.put_roster("calls", "nodes.csv")
    curator.push("calls", 0, "2024-01-01.parquet", time="2024-01-01")
    curator.wait("calls", 0)

    analyst = Client("https://psgraph.example.org", token=another)
    analyst.pull("calls", "releases")                    # then pg.read_releases("releases")

It needs no library besides psgraph itself. Idempotent requests are repeated a few times if the
connection fails.
"""

from __future__ import annotations

from psgraph.client.client import Client, Posted, ReleaseInfo, State, StreamInfo, Token
from psgraph.client.mirror import Pulled

__all__ = ["Client", "Posted", "Pulled", "ReleaseInfo", "State", "StreamInfo", "Token"]
