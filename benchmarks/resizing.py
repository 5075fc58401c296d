"""What stays the same when a public stream is resized for a rehearsal.

    python benchmarks/resizing.py demo as-733 email-eu

prints, for each data set and for three other sizes of it, the facts that docs/how-to/rehearse.md
lists.
"""

from __future__ import annotations

import sys

from psgraph.trust.rehearsal.size import resize
from psgraph.trust.rehearsal.template import Shape, Template, shape_of
from psgraph_lab.datasets import load_dataset

TIMESTAMPS = 20
#: Nodes relative to the data set, and mean degree relative to it.
SIZES = ((3.0, 1.0), (0.5, 1.0), (1.0, 2.0), (1.0, 0.5))


def row(name: str, shape: Shape) -> str:
    return (
        f"| {name} | {shape.nodes:,} | {shape.edges:,.0f} | {shape.transitivity:.3f} | "
        f"{100 * shape.kept:.0f} % | {100 * shape.top_degrees:.0f} % |"
    )


def main() -> None:
    for name in sys.argv[1:]:
        template = Template.from_snapshots(load_dataset(name)[-TIMESTAMPS:])
        print(row(name, shape_of(template)), flush=True)
        for size, degree in SIZES:
            nodes, edges = round(size * template.nodes), round(size * degree * template.edges)
            made = shape_of(resize(template, nodes=nodes, edges=edges))
            print(row(f"nodes × {size:g}, mean degree × {degree:g}", made), flush=True)


if __name__ == "__main__":
    main()
