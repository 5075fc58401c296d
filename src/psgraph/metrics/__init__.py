"""Compare synthetic graphs with their originals. For the curator only: contains the truth."""

from __future__ import annotations

from psgraph.graph.sides import side_degrees
from psgraph.metrics.change import degree_change, degree_change_correlation, edge_overlap
from psgraph.metrics.clustering import (
    Clustering,
    average_clustering_error,
    clustering_coefficients,
    clustering_error,
    triangle_count,
    triangle_error,
    triangles,
)
from psgraph.metrics.communities import (
    adjusted_rand_index,
    find_communities,
    modularity,
    mutual_information,
)
from psgraph.metrics.comparison import Comparison, Row, compare
from psgraph.metrics.degrees import (
    assortativity,
    assortativity_error,
    degree_divergence,
    degree_variance,
    degree_variance_error,
    density_error,
    edge_density,
    node_degrees,
    smoothed_degree_divergence,
)
from psgraph.metrics.direction import reciprocity, reciprocity_error
from psgraph.metrics.fidelity import Fidelity, compute_fidelity
from psgraph.metrics.groups import (
    GROUPS,
    METRICS,
    PAPER_METRICS,
    default_metrics,
    find_metric,
    groups_for,
    headline_metrics,
    metric_groups,
)
from psgraph.metrics.labels import label_assortativity, label_modularity
from psgraph.metrics.metric import GAMMA, GraphFacts, Group, Limits, Metric, Pair, relative_error
from psgraph.metrics.paths import PathLengths, length_distance, path_lengths
from psgraph.metrics.sides import (
    joint_degree_divergence,
    joint_degrees,
    side_assortativity,
    side_assortativity_error,
)
from psgraph.metrics.spectral import eigenvector_centrality, eigenvector_overlap, most_central
from psgraph.metrics.spreading import Outbreak, component_sizes, largest_component, outbreak_size
from psgraph.metrics.tops import pagerank, pagerank_overlap
from psgraph.metrics.weights import (
    side_strengths,
    total_weight,
    total_weight_error,
    weight_cosine,
    weight_distance,
)

__all__ = [
    "GAMMA",
    "GROUPS",
    "METRICS",
    "PAPER_METRICS",
    "Clustering",
    "Comparison",
    "Fidelity",
    "GraphFacts",
    "Group",
    "Limits",
    "Metric",
    "Outbreak",
    "Pair",
    "PathLengths",
    "Row",
    "adjusted_rand_index",
    "assortativity",
    "assortativity_error",
    "average_clustering_error",
    "clustering_coefficients",
    "clustering_error",
    "compare",
    "component_sizes",
    "compute_fidelity",
    "default_metrics",
    "degree_change",
    "degree_change_correlation",
    "degree_divergence",
    "degree_variance",
    "degree_variance_error",
    "density_error",
    "edge_density",
    "edge_overlap",
    "eigenvector_centrality",
    "eigenvector_overlap",
    "find_communities",
    "find_metric",
    "groups_for",
    "headline_metrics",
    "joint_degree_divergence",
    "joint_degrees",
    "label_assortativity",
    "label_modularity",
    "largest_component",
    "length_distance",
    "metric_groups",
    "modularity",
    "most_central",
    "mutual_information",
    "node_degrees",
    "outbreak_size",
    "pagerank",
    "pagerank_overlap",
    "path_lengths",
    "reciprocity",
    "reciprocity_error",
    "relative_error",
    "side_assortativity",
    "side_assortativity_error",
    "side_degrees",
    "side_strengths",
    "smoothed_degree_divergence",
    "total_weight",
    "total_weight_error",
    "triangle_count",
    "triangle_error",
    "triangles",
    "weight_cosine",
    "weight_distance",
]
