"""
Writing a mapping file: one layout, which MAESTRO and `read_mapping_file` read.

    Layer conv1 {
      Type: CONV
      Stride { X: 2, Y: 2 }
      Dimensions { K: 64, C: 3, R: 3, S: 3, Y: 34, X: 34 }
      Dataflow {
        SpatialMap(1, 1) K;
      }
    }
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from npuc.dialects.mapping import Cluster, Directive, Extent, Mapping, Sz
from npuc.dialects.mapping.problem import OUTPUT
from npuc.frontends.maestro.read import clean_name


def write_mapping_file(network: str, layers: Sequence[tuple[str, Mapping]]) -> str:
    """
    The text of a file with these layers, by name.

    It is read back as the same mappings, if MAESTRO accepts them. Characters that names in such files cannot contain
    become `_`, the minus among them. `Sz(X')` keeps its form where no directive uses `Sz(X)`: the layer is then given
    by the size of its output; otherwise it becomes a number.
    """
    name = _word(network)
    lines = [f"Network {name}_ {{" if name in ("Layer", "Network") else f"Network {name} {{"]
    for layer, mapping in layers:
        lines += [f"  {line}" for line in _layer(layer, mapping)]
    return "\n".join([*lines, "}", ""])


def _word(name: str) -> str:
    """A name as a word of the file; one that begins with `//` would be a comment."""
    word = clean_name(name).replace("-", "_") or "_"
    return f"_{word[1:]}" if word.startswith("//") else word


def _layer(name: str, mapping: Mapping) -> Iterator[str]:
    problem = mapping.problem
    asked = {extent.dim for directive in mapping.directives for extent in _extents(directive) if isinstance(extent, Sz)}
    outputs = [dim for dim, output in OUTPUT.items() if output in asked and dim not in asked]
    sizes = {
        OUTPUT[dim] if dim in outputs else dim: mapping.extent(Sz(OUTPUT[dim])) if dim in outputs else size
        for dim, size in problem.dims
    }
    yield f"Layer {_word(name)} {{"
    yield f"  Type: {problem.kind}"
    if problem.strides:
        yield f"  Stride {{ {_listed(problem.strides)} }}"
    yield f"  Dimensions {{ {_listed(tuple(sizes.items()))} }}"
    yield "  Dataflow {"
    for directive in mapping.directives:
        yield f"    {_told(directive, mapping, sizes)};"
    yield "  }"
    yield "}"


def _listed(sizes: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{dim}: {size}" for dim, size in sizes)


def _extents(directive: Directive) -> tuple[Extent, ...]:
    return (directive.size,) if isinstance(directive, Cluster) else (directive.size, directive.offset)


def _told(directive: Directive, mapping: Mapping, sizes: dict[str, int]) -> Directive:
    """A directive whose `Sz` refer to sizes that the file gives; the others become numbers."""

    def told(extent: Extent) -> Extent:
        return mapping.extent(extent) if isinstance(extent, Sz) and extent.dim not in sizes else extent

    if isinstance(directive, Cluster):
        return replace(directive, size=told(directive.size))
    return replace(directive, size=told(directive.size), offset=told(directive.offset))
