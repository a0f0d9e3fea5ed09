"""How a layer's loops are spread over processing elements and time: data-centric directives and cluster levels."""

from xdsl.ir import Dialect

from npuc.dialects.mapping.attrs import ClustersAttr, MaestroAttr, MappingAttr, shared_mapping
from npuc.dialects.mapping.clusters import ClusterLevel, Clusters, TileLoop
from npuc.dialects.mapping.directives import Cluster, Directive, Extent, Map, Mapping, Sz
from npuc.dialects.mapping.problem import KINDS, KindName, Problem, Role

__all__ = [
    "KINDS",
    "MAPPING",
    "Cluster",
    "ClusterLevel",
    "Clusters",
    "ClustersAttr",
    "Directive",
    "Extent",
    "KindName",
    "MaestroAttr",
    "Map",
    "Mapping",
    "MappingAttr",
    "Problem",
    "Role",
    "Sz",
    "TileLoop",
    "shared_mapping",
]

MAPPING = Dialect("mapping", [], [MaestroAttr, ClustersAttr])
