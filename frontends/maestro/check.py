"""
Checks that the parts of a layer form a mapping: the layer that is mapped, and MAESTRO's rules for directives.

    Dimensions { K: 4, C: 2, R: 3, S: 3, Y': 4, X': 4 }   ->   CONV K 4  C 2  R 3  S 3  Y 6  X 6
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from npuc.compiler.core.errors import did_you_mean, either
from npuc.dialects.mapping import Cluster, Map, Mapping, Problem, Sz
from npuc.dialects.mapping.directives import MOST_CLUSTERS
from npuc.dialects.mapping.problem import OUTPUT, SLIDES, KindName
from npuc.frontends.maestro.body import Body, Written
from npuc.frontends.maestro.numbers import LARGEST
from npuc.frontends.maestro.words import Word
from npuc.frontends.source_text import Diagnostics, SourceText

MOST_SPATIAL = 2
MOST_MAPS = 10
"""The most maps of a level: each dimension, and three again. Each one more has thrice as many cases to cost."""
_CONVOLUTION = ("N", "G", "K", "C", "R", "S", "Y", "X", "Y'", "X'")
_GEMM = ("M", "N", "K")


@dataclass
class Checker:
    """Checks one layer; mistakes are noted in `diagnostics`."""

    source: SourceText
    name: Word
    body: Body
    diagnostics: Diagnostics

    def mapping(self, directives: list[Written], *, inherited: bool) -> Mapping | None:
        """The layer under these directives; None when something was found wrong."""
        problem = self._problem()
        if problem is None:
            return None
        mapping = Mapping(problem, tuple(written.directive for written in directives))
        levels = _by_level(directives)
        self._levels(levels)
        given = self._given(problem, inherited=inherited)
        for level in levels:
            dims = {written.directive.dim for written in level if isinstance(written.directive, Map)}
            for written in level:
                self._directive(mapping, dims, written, given)
        return None if len(self.diagnostics) else mapping

    def _note(self, word: Word, message: str, hint: str | None = None) -> None:
        self.diagnostics.add(self.source.error(word.at, message, hint))

    def _problem(self) -> Problem | None:
        """The layer, its sizes input-centric; None when they are wrong."""
        kind = self.body.kind
        if kind is None:
            self._note(self.name, f"layer {self.name} has no Type", "for example Type: CONV")
            return None
        sizes = self._sizes(kind)
        if len(self.diagnostics) or not self._complete(kind, sizes):
            return None
        dims = {dim.removesuffix("'"): self._input_size(dim, sizes) for dim in sizes}
        for word, _ in self.body.dims:
            dim = word.text.removesuffix("'")
            if dims[dim] > LARGEST:
                self._note(word, f"{dim} is {dims[dim]:,}, expected at most {LARGEST:,}")
            if kind != "GEMM" and dim in SLIDES and dims[dim] < dims[SLIDES[dim]]:
                self._note(word, f"{dim} is {dims[dim]}, smaller than the filter: {SLIDES[dim]} is {dims[SLIDES[dim]]}")
        strides = {word.text: value for word, value in self.body.strides}
        return None if len(self.diagnostics) else Problem(kind, tuple(dims.items()), tuple(strides.items()))

    def _sizes(self, kind: KindName) -> dict[str, int]:
        """The sizes as they are written, by name."""
        known = _GEMM if kind == "GEMM" else _CONVOLUTION
        sizes: dict[str, int] = {}
        for word, size in self.body.dims:
            other = word.text[0] if word.text.endswith("'") else f"{word.text}'"
            if word.text not in known:
                self._note(word, f"found {word}, expected a dimension of {kind}", did_you_mean(word.text[:100], known))
            elif sizes.get(word.text, size) != size:
                message = f"found another size of {word.text}, {size} after {sizes[word.text]}, expected one"
                self._note(word, message)
            elif other in sizes:
                self._note(word, f"found {word} beside {other}, expected one of them", "the other follows from it")
            sizes[word.text] = size
        return sizes

    def _complete(self, kind: KindName, sizes: dict[str, int]) -> bool:
        needed = Problem(kind, ()).needed()
        missing = [dim for dim in needed if dim not in sizes and f"{dim}'" not in sizes]
        if missing:
            at = self.body.parts.get("Dimensions", self.name)
            what = "dimension" if len(missing) == 1 else "dimensions"
            message = f"layer {self.name} has no {what} {_listed(missing)}, expected {_listed(needed)} of {kind}"
            self._note(at, message, f"for example Dimensions {{ {', '.join(f'{dim}: 8' for dim in needed)} }}")
        return not missing

    @staticmethod
    def _input_size(dim: str, sizes: dict[str, int]) -> int:
        """The size of a dimension, of Y and X for Y' and X'; strides do not count, as in MAESTRO."""
        if not dim.endswith("'"):
            return sizes[dim]
        return sizes[dim] + sizes[SLIDES[dim[0]]] - 1

    def _levels(self, levels: list[list[Written]]) -> None:
        """Check the number of clusters, and of maps at each level."""
        for written in levels[MOST_CLUSTERS + 1 :]:
            hint = f"MAESTRO has at most {MOST_CLUSTERS} Cluster directives"
            self._note(written[0].at, f"found a Cluster after {MOST_CLUSTERS} others", hint)
        for number, level in enumerate(levels):
            spatial = [w for w in level if isinstance(w.directive, Map) and w.directive.spatial]
            maps = [w for w in level if isinstance(w.directive, Map)]
            if len(maps) > MOST_MAPS:
                self._note(maps[MOST_MAPS].at, f"level {number} has {len(maps)} maps, expected at most {MOST_MAPS}")
            if not spatial:
                at = level[0].at if number else self.body.parts.get("Dataflow", self.name)
                hint = "spread a dimension over the sub-clusters: SpatialMap(1, 1) K;"
                self._note(at, f"level {number} has no SpatialMap, expected one or two", hint)
            for written in spatial[MOST_SPATIAL:]:
                self._note(written.at, f"level {number} has {len(spatial)} spatial maps, expected one or two")

    def _given(self, problem: Problem, *, inherited: bool) -> tuple[str, ...]:
        """
        The names that `Sz` may have: as in MAESTRO those of the Dimensions as they are written.

        Directives of another layer may also speak of the other one of X and X'.
        """
        outputs = OUTPUT.values() if problem.slides else ()
        return tuple(dict.fromkeys((*problem.sizes, *outputs) if inherited else (w.text for w, _ in self.body.dims)))

    def _directive(self, mapping: Mapping, dims: set[str], written: Written, given: tuple[str, ...]) -> None:
        """Check one directive of a level that maps `dims`."""
        directive = written.directive
        extents = [(directive.size, written.size)]
        if isinstance(directive, Map):
            extents.append((directive.offset, written.offset))
            known = mapping.problem.mappable
            if directive.dim not in known:
                word = written.dim if written.dim is not written.at else Word(directive.dim, written.at.at)
                self._note(word, f"found {word}, expected {either(known)}, the dimensions of the layer")
                return
            for message, hint in _beside(directive, dims):
                self._note(written.dim, message, hint)
        unknown = [(extent, word) for extent, word in extents if isinstance(extent, Sz) and extent.dim not in given]
        for extent, word in unknown:
            message = f"found {Word(extent.dim, word.at)} in Sz, expected {either(given)}, which Dimensions give"
            self._note(word, message)
        if not unknown and isinstance(directive, Map) and not directive.spatial and directive.dim in SLIDES.values():
            self._filter(mapping, directive, written)

    def _filter(self, mapping: Mapping, directive: Map, written: Written) -> None:
        """Check a temporal map of R or S: MAESTRO refuses those that cut the filter."""
        size, offset = mapping.extent(directive.size), mapping.extent(directive.offset)
        whole, dim = mapping.problem.sizes[directive.dim], directive.dim
        hint = f"MAESTRO takes the filter whole in time: TemporalMap(Sz({dim}), Sz({dim})) {dim}; or a SpatialMap"
        if size != whole:
            self._note(written.size, f"found a temporal map of {size} of {dim}, expected {whole}, all of {dim}", hint)
        elif offset != size:
            self._note(written.offset, f"found the offset {offset} of {dim}, expected {size}, the size", hint)


def _by_level(directives: list[Written]) -> list[list[Written]]:
    """Directives by level; a level but the first begins with its Cluster."""
    levels: list[list[Written]] = [[]]
    for written in directives:
        if isinstance(written.directive, Cluster):
            levels.append([])
        levels[-1].append(written)
    return levels


def _beside(directive: Map, dims: set[str]) -> Iterator[tuple[str, str]]:
    """The conflict of a map of an output dimension with the other maps of its level, with a hint."""
    if directive.dim not in OUTPUT.values():
        return
    dim, window = directive.dim[0], SLIDES[directive.dim[0]]
    if dim in dims:
        yield f"found a map of {directive.dim} beside one of {dim}, expected one of them", "they are the same loop"
    if window not in dims:
        hint = f"add TemporalMap(Sz({window}), Sz({window})) {window}; MAESTRO adds its size to that of {directive.dim}"
        yield f"found a map of {directive.dim}, expected one of {window} at the same level", hint


def _listed(words: tuple[str, ...] | list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
