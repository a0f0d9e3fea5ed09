"""
Mappings as attributes: frozen plain data, shared by the operations that have it.

    #mapping.maestro<CONV, sizes {K = 64, C = 3, R = 3, S = 3, Y = 225, X = 225}, strides {Y = 2, X = 2},
        [spatial (1, 1) K, temporal (64, 64) C, temporal (Sz(R), 1) Y, cluster 64, spatial (1, 1) C]>
    #mapping.clusters<16 [o : 32 / 2, i : 64, y : 1], 8 [i : 64 / 8]>
"""

from functools import cached_property, lru_cache
from typing import TypeAlias

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from npuc.dialects.mapping.clusters import Clusters
from npuc.dialects.mapping.directives import Mapping
from npuc.dialects.mapping.syntax import clusters_text, mapping_text, parse_clusters, parse_mapping


@irdl_attr_definition
class MaestroAttr(Data[Mapping]):
    """A mapping by directives, for the layer that it names."""

    name = "mapping.maestro"

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the mapping by itself (found once, however many operations carry it)."""
        return tuple(self.data.problems())

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Mapping:
        with parser.in_angle_brackets():
            return parse_mapping(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(mapping_text(self.data))


@irdl_attr_definition
class ClustersAttr(Data[Clusters]):
    """A mapping in cluster form, on the dimensions of the nest that has it."""

    name = "mapping.clusters"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Clusters:
        with parser.in_angle_brackets():
            return parse_clusters(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(clusters_text(self.data))


MappingAttr: TypeAlias = MaestroAttr | ClustersAttr


@lru_cache(maxsize=4096)
def shared_mapping(mapping: Mapping | Clusters) -> MappingAttr:
    """The shared attribute of a mapping."""
    return MaestroAttr(mapping) if isinstance(mapping, Mapping) else ClustersAttr(mapping)
