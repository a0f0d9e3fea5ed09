"""
Mappings from a file of MAESTRO, for the layers of any program by their names: what `--mapping FILE.m` does.

A layer of the program takes the mapping that the file has under its name, for its forward product.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.core.errors import SourceError, did_you_mean
from npuc.dialects.mapping import Map, Mapping, shared_mapping
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.mapped import layout_of
from npuc.dialects.npu.nest import Nest
from npuc.dialects.provenance import Role, layer_of, role_of

if TYPE_CHECKING:
    from npuc.frontends.maestro import MappedLayer, WrongLayer


def is_mapping_file(mapping: str | None) -> bool:
    """Whether an option `mapping` names a file."""
    return mapping is not None and mapping.lower().endswith(".m")


def _for_nest(mapping: Mapping, nest: Nest) -> Mapping | str:
    """A mapping for a nest, a sentence if it is none; one of a single image takes a batch's one after the other."""
    layout = layout_of(nest, mapping.problem)
    problem, batch = mapping.problem, nest.sizes.get("b", 1)
    if isinstance(layout, str) and problem.slides and problem.sizes.get("N", 1) == 1:
        dims = tuple((dim, size) for dim, size in problem.dims if dim != "N")
        whole = replace(problem, dims=(("N", batch), *dims))
        own = [one for one in mapping.directives if not (isinstance(one, Map) and one.dim == "N")]
        if not isinstance(layout_of(nest, whole), str):
            return replace(mapping, problem=whole, directives=(Map("N", 1, 1), *own))
    return layout if isinstance(layout, str) else mapping


def apply_mapping_file(module: ModuleOp, path: str, warnings: list[str], otherwise: str) -> None:
    """
    Give the forward products of a module that have no mapping those of a file; adds to `warnings`.

    `otherwise` is what layers without an entry take, for a warning. Raises `UsageError` for a file that cannot be
    read, `SourceError` for what is wrong in a layer that is asked for, or of other sizes than the program's.
    """
    from npuc.compiler.analysis.mapping.coverage import is_legal
    from npuc.frontends import read_text
    from npuc.frontends.maestro import read_mapping_file

    file = read_mapping_file(read_text(path), path)
    known: dict[str, MappedLayer | WrongLayer] = {}
    for layer in file.layers:
        known.setdefault(layer.name, layer)
    twice = [name for name, count in Counter(file.names).items() if count > 1]
    used: set[str] = set()
    missing: dict[str, None] = {}
    for op in module.walk():
        if not isinstance(op, ContractOp) or op.mapping_attr is not None or role_of(op) is not Role.FORWARD:
            continue
        name = layer_of(op)
        # A minus separates words in such files.
        entry = next((known[n] for n in (name, name.replace("-", "_")) if n in known), None)
        if entry is None:
            missing[name] = None
            continue
        used.add(entry.name)
        found = entry.checked()
        mapping = _for_nest(found.mapping, op.nest)
        if isinstance(mapping, str):
            raise SourceError(f"layer {name}: {mapping}", location=found.location)
        op.mapping_attr = shared_mapping(replace(mapping, unchecked=not is_legal(mapping)))
    for name in twice:
        if name in used:
            warnings.append(f"{path}: {name} occurs {file.names.count(name)} times, the first is used")
    if missing:
        first = next(iter(missing))
        hint = did_you_mean(first, list(known))
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        warnings.append(f"{path} has no layer {first}{more} ({hint}): mapped by {otherwise}")
