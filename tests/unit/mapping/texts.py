"""Mappings and nests from their text."""

from xdsl.ir import Attribute
from xdsl.parser import Parser

from npuc.dialects.mapping import Clusters, ClustersAttr, MaestroAttr, Mapping
from npuc.dialects.npu.attrs import NestAttr
from npuc.dialects.npu.nest import Nest
from npuc.frontends.mlir import make_context


def _attribute(text: str) -> Attribute:
    return Parser(make_context(), text).parse_attribute()


def mapping_of(text: str) -> Mapping:
    attr = _attribute(f"#mapping.maestro<{text}>")
    assert isinstance(attr, MaestroAttr)
    return attr.data


def clusters_of(text: str) -> Clusters:
    attr = _attribute(f"#mapping.clusters<{text}>")
    assert isinstance(attr, ClustersAttr)
    return attr.data


def nest_of(text: str) -> Nest:
    attr = _attribute(f"#npu.nest<{text}>")
    assert isinstance(attr, NestAttr)
    assert attr.problems == ()
    return attr.data
