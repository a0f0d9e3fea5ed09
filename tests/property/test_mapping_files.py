"""Mapping files: any text is read or refused at a place of it, and what is written is read back as it was."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.core.errors import SourceError, SourceErrors
from npuc.dialects.mapping import KINDS, Cluster, Directive, Extent, KindName, Map, Mapping, Problem, Sz
from npuc.frontends.maestro import WrongLayer, read_mapping_file, write_mapping_file

SIZES = st.integers(1, 9) | st.integers(1, 2**31 - 1)
DATA = Path(__file__).parents[1] / "oracle" / "data" / "maestro" / "mappings"
FILES = [
    (DATA / name).read_text("utf-8") for name in ("maestro/GEMM_Example.m", "custom/c0005_xp.m", "custom/c0023_dsc.m")
]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """A layer of any type, its dimensions in any order."""
    kind: KindName = draw(st.sampled_from(KINDS))
    optional = [] if kind == "GEMM" else ["K", "N", "G"]
    names = dict.fromkeys((*Problem(kind, ()).needed(), *draw(st.lists(st.sampled_from(optional or ["M"])))))
    sizes = {name: draw(SIZES) for name in draw(st.permutations(list(names)))}
    if kind != "GEMM":
        for dim, window in (("Y", "R"), ("X", "S")):
            sizes[dim], sizes[window] = max(sizes[dim], sizes[window]), min(sizes[dim], sizes[window])
    strides = (
        () if kind == "GEMM" else draw(st.lists(st.tuples(st.sampled_from("XY"), SIZES), unique_by=lambda s: s[0]))
    )
    return Problem(kind, tuple(sizes.items()), tuple(strides))


@st.composite
def mappings(draw: st.DrawFn) -> Mapping:
    """A mapping that MAESTRO takes, of up to four levels. Sz is of Y and X, or of Y' and X'."""
    problem = draw(problems())
    named = list(problem.sizes)
    outputs = problem.slides and draw(st.booleans())
    asked = [f"{dim}'" if outputs and dim in "YX" else dim for dim in named]
    extents = SIZES | st.sampled_from(asked).map(Sz)
    directives: list[Directive] = []
    for level in range(draw(st.integers(1, 4))):
        directives += [Cluster(draw(extents))] if level else []
        dims = draw(st.permutations(named))[: draw(st.integers(1, len(named)))]
        spatial = draw(st.sampled_from([1, 2]))
        rows = [_map(dim, draw(extents), draw(extents), spatial=n < spatial) for n, dim in enumerate(dims)]
        if problem.slides and {"S", "X"} <= set(dims) and draw(st.booleans()):
            rows = [Map("X'", m.size, m.offset, m.spatial) if m.dim == "X" else m for m in rows]
        directives += draw(st.permutations(rows))
    return Mapping(problem, tuple(directives))


def _map(dim: str, size: Extent, offset: Extent, *, spatial: bool) -> Map:
    """A map; a temporal one of a filter's dimension is whole."""
    whole = not spatial and dim in ("R", "S")
    return Map(dim, Sz(dim) if whole else size, Sz(dim) if whole else offset, spatial)


@given(st.lists(mappings(), min_size=1, max_size=3))
def test_what_is_written_is_read_back(written: list[Mapping]) -> None:
    layers = [(f"layer{number}", mapping) for number, mapping in enumerate(written)]
    text = write_mapping_file("net", layers)
    found = read_mapping_file(text, "f.m")
    assert [(layer.name, layer.mapping) for layer in found.checked()] == layers
    assert write_mapping_file("net", [(layer.name, layer.mapping) for layer in found.checked()]) == text


WORDS = (
    "Constant Network Layer Type Stride Dimensions Dataflow CONV DSCONV GEMM LSTM SpatialMap TemporalMap Cluster Sz "
    "K C R S Y X Y' X' N G M P L { } {a a} // //a 0 1 3 -2 2147483647 2147483648 99999999999 1.5 a # \u00e9 \u0663 \x0b"
).split(" ")
TEXTS = st.lists(st.sampled_from([*WORDS, "\n", "\r\n", "\r", "\t"]), max_size=40).map(" ".join)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A right file in which a few words are others, missing, or there twice."""
    words = draw(st.sampled_from(FILES)).replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split(" ")
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(words) - 1))
        words[at : at + draw(st.integers(0, 2))] = draw(st.lists(st.sampled_from(WORDS), max_size=2))
    return " ".join(words)


@settings(max_examples=400)
@given(TEXTS | mutated() | st.text(max_size=60))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    errors: tuple[Exception, ...] = ()
    try:
        found = read_mapping_file(text, "f.m")
        wrong = [number for number, layer in enumerate(found.layers) if isinstance(layer, WrongLayer)]
        right = [number for number in range(len(found.layers)) if number not in wrong]
        layers = found.checked(right)
        assert found.layers
        assert [layer.location.line for layer in layers] == [found.layers[n].location.line for n in right]
        again = (
            read_mapping_file(write_mapping_file("n", [(x.name, x.mapping) for x in layers]), "g.m") if layers else None
        )
        assert again is None or [x.mapping.levels for x in again.checked()] == [x.mapping.levels for x in layers]
        found.checked()
    except SourceError as e:
        errors = e.errors if isinstance(e, SourceErrors) else (e,)
    for error in errors:
        assert isinstance(error, SourceError)
        assert error.location is not None
        assert error.location.file == "f.m"
        assert 1 <= error.location.line <= len(lines)
        assert 1 <= error.location.col <= len(lines[error.location.line - 1]) + 1
        assert error.render()
