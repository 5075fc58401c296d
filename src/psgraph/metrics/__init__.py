"""How well synthetic graphs stand in for the originals. For the curator only: it sees the truth."""

from __future__ import annotations

from psgraph.metrics.clustering import Clustering, clustering_coefficients, triangles
from psgraph.metrics.degrees import degree_divergence, node_degrees, smoothed_degree_divergence
from psgraph.metrics.density import density_error, edge_density
from psgraph.metrics.mixing import assortativity, assortativity_error
from psgraph.metrics.relative import GAMMA, relative_error
from psgraph.metrics.releases import read_releases
from psgraph.metrics.report import Comparison, Fidelity, Row, compare, measure
from psgraph.metrics.spectral import eigenvector_centrality, eigenvector_overlap, most_central

__all__ = [
    "GAMMA",
    "Clustering",
    "Comparison",
    "Fidelity",
    "Row",
    "assortativity",
    "assortativity_error",
    "clustering_coefficients",
    "compare",
    "degree_divergence",
    "density_error",
    "edge_density",
    "eigenvector_centrality",
    "eigenvector_overlap",
    "measure",
    "most_central",
    "node_degrees",
    "read_releases",
    "relative_error",
    "smoothed_degree_divergence",
    "triangles",
]
