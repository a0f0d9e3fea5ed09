"""
Text of mappings.

    maestro   ::= kind `,` `sizes` numbers (`,` `strides` numbers)? `,`
                  `[` (directive (`,` directive)*)? `]` `unchecked`?
    numbers   ::= `{` dimension `=` integer (`,` dimension `=` integer)* `}`
    directive ::= (`spatial` | `temporal`) `(` extent `,` extent `)` dimension | `cluster` extent
    extent    ::= integer | `Sz` `(` dimension `)`
    clusters  ::= level (`,` level)*
    level     ::= integer `[` (name `:` integer (`/` integer)? (`,` …)*)? `]`

A dimension of the output is quoted, since a name has no apostrophe: `temporal (1, 1) "Y'"`.
"""

from collections.abc import Collection, Sequence

from xdsl.parser import AttrParser

from npuc.dialects.mapping.clusters import ClusterLevel, Clusters, TileLoop
from npuc.dialects.mapping.directives import Cluster, Directive, Extent, Map, Mapping, Sz
from npuc.dialects.mapping.problem import KINDS, OUTPUT, KindName, Problem

UNCHECKED = "unchecked"


def _parse_kind(parser: AttrParser) -> KindName:
    start = parser.pos
    name = parser.parse_identifier(" of a kind of layer")
    if name not in KINDS:
        parser.raise_error(f"unknown kind of layer '{name}', expected {', '.join(KINDS)}", start, start + len(name))
    return name


def _parse_numbers(parser: AttrParser, known: Collection[str], what: str) -> tuple[tuple[str, int], ...]:
    """Parse `{K = 64, C = 3}`; a name that is not known or comes twice is an error at its place."""
    names: set[str] = set()

    def parse_one() -> tuple[str, int]:
        start = parser.pos
        name = parser.parse_identifier(" of a dimension")
        if name not in known:
            message = f"unknown dimension '{name}' in {what}, expected {', '.join(known)}"
            parser.raise_error(message, start, start + len(name))
        if name in names:
            parser.raise_error(f"{name} comes twice in {what}", start, start + len(name))
        names.add(name)
        parser.parse_punctuation("=")
        return name, parser.parse_integer(allow_boolean=False)

    return tuple(parser.parse_comma_separated_list(parser.Delimiter.BRACES, parse_one, f" in {what}"))


def _parse_dim(parser: AttrParser, known: Collection[str]) -> str:
    """Parse the name of a dimension, quoted if it has an apostrophe."""
    start = parser.pos
    name = parser.parse_optional_str_literal()
    if name is None:
        name = parser.parse_identifier(" of a dimension")
    if name not in known:
        parser.raise_error(f"unknown dimension '{name}', the layer has {', '.join(known)}", start, parser.pos)
    return name


def _parse_extent(parser: AttrParser, known: Collection[str]) -> Extent:
    if parser.parse_optional_keyword("Sz") is None:
        return parser.parse_integer(allow_boolean=False)
    with parser.in_parens():
        return Sz(_parse_dim(parser, known))


def _parse_directive(parser: AttrParser, known: Collection[str]) -> Directive:
    start = parser.pos
    word = parser.parse_identifier(" of a directive")
    if word == "cluster":
        return Cluster(_parse_extent(parser, known))
    if word not in ("spatial", "temporal"):
        message = f"unknown directive '{word}', expected spatial, temporal or cluster"
        parser.raise_error(message, start, start + len(word))
    with parser.in_parens():
        size = _parse_extent(parser, known)
        parser.parse_punctuation(",")
        offset = _parse_extent(parser, known)
    return Map(_parse_dim(parser, known), size, offset, word == "spatial")


def parse_mapping(parser: AttrParser) -> Mapping:
    """Parse a mapping by directives."""
    kind = _parse_kind(parser)
    parser.parse_punctuation(",")
    parser.parse_keyword("sizes")
    dims = _parse_numbers(parser, Problem.possible(kind), "sizes")
    parser.parse_punctuation(",")
    strides: tuple[tuple[str, int], ...] = ()
    if parser.parse_optional_keyword("strides"):
        strides = _parse_numbers(parser, tuple(OUTPUT), "strides")
        parser.parse_punctuation(",")
    problem = Problem(kind, dims, strides)
    known = problem.mappable
    directives = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: _parse_directive(parser, known), " in a mapping"
    )
    unchecked = parser.parse_optional_keyword(UNCHECKED) is not None
    return Mapping(problem, tuple(directives), unchecked)


def _dim_text(dim: str) -> str:
    return f'"{dim}"' if dim.endswith("'") else dim


def _extent_text(extent: Extent) -> str:
    return f"Sz({_dim_text(extent.dim)})" if isinstance(extent, Sz) else str(extent)


def _directive_text(directive: Directive) -> str:
    if isinstance(directive, Cluster):
        return f"cluster {_extent_text(directive.size)}"
    tile = f"({_extent_text(directive.size)}, {_extent_text(directive.offset)})"
    return f"{'spatial' if directive.spatial else 'temporal'} {tile} {_dim_text(directive.dim)}"


def _numbers_text(numbers: Sequence[tuple[str, int]]) -> str:
    return f"{{{', '.join(f'{name} = {number}' for name, number in numbers)}}}"


def mapping_text(mapping: Mapping) -> str:
    """The text of a mapping by directives."""
    problem = mapping.problem
    parts = [problem.kind, f"sizes {_numbers_text(problem.dims)}"]
    if problem.strides:
        parts.append(f"strides {_numbers_text(problem.strides)}")
    parts.append(f"[{', '.join(map(_directive_text, mapping.directives))}]")
    return ", ".join(parts) + (f" {UNCHECKED}" if mapping.unchecked else "")


def parse_clusters(parser: AttrParser) -> Clusters:
    """Parse a mapping in cluster form."""

    def parse_loop() -> TileLoop:
        dim = parser.parse_identifier(" of a dimension")
        parser.parse_punctuation(":")
        temporal = parser.parse_integer(allow_boolean=False)
        shared = parser.parse_optional_punctuation("/") is not None
        return TileLoop(dim, temporal, parser.parse_integer(allow_boolean=False) if shared else temporal)

    def parse_level() -> ClusterLevel:
        fanout = parser.parse_integer(allow_boolean=False)
        loops = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_loop, " in a level")
        return ClusterLevel(fanout, tuple(loops))

    return Clusters(tuple(parser.parse_comma_separated_list(parser.Delimiter.NONE, parse_level, " in a mapping")))


def clusters_text(clusters: Clusters) -> str:
    """The text of a mapping in cluster form."""
    return ", ".join(map(str, clusters.levels))
