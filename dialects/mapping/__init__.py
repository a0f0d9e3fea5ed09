"""How a layer's loops are spread over processing elements and time: data-centric directives and cluster levels."""

from npuc.dialects.mapping.clusters import ClusterLevel, Clusters, TileLoop
from npuc.dialects.mapping.directives import Cluster, Directive, Extent, Map, Mapping, Sz
from npuc.dialects.mapping.problem import KINDS, KindName, Problem, Role

__all__ = [
    "KINDS",
    "Cluster",
    "ClusterLevel",
    "Clusters",
    "Directive",
    "Extent",
    "KindName",
    "Map",
    "Mapping",
    "Problem",
    "Role",
    "Sz",
    "TileLoop",
]
