"""Mapping files: what the reader takes from them, as MAESTRO ships them and as they are allowed to be."""

import csv
from pathlib import Path

import pytest

from npuc.compiler.core.errors import Location, SourceError, SourceErrors
from npuc.dialects.mapping import Cluster, Map, Mapping, Problem, Sz
from npuc.frontends.maestro import MappedLayer, MappingFile, WrongLayer, read_mapping_file

DATA = Path(__file__).parents[2] / "oracle" / "data" / "maestro"
FLOW = "SpatialMap(1,1) K; TemporalMap(Sz(R),Sz(R)) R; TemporalMap(Sz(S),Sz(S)) S;"
DIMS = "K: 4, C: 2, R: 3, S: 3, Y: 8, X: 8"
DIRECTIVES = (Map("K", 1, 1, spatial=True), Map("R", Sz("R"), Sz("R")), Map("S", Sz("S"), Sz("S")))


def layer(dims: str = DIMS, flow: str = FLOW, name: str = "a", kind: str = "CONV", stride: str = "") -> str:
    return f"Layer {name} {{ Type: {kind} {stride} Dimensions {{ {dims} }} Dataflow {{ {flow} }} }}"


def file(*layers: str) -> MappingFile:
    return read_mapping_file("Network net {\n" + "\n".join(layers) + "\n}\n", "f.m")


def mapping(text: str) -> Mapping:
    (found,) = file(text).checked()
    return found.mapping


def test_a_file_with_all_that_it_may_hold() -> None:
    text = """// of two levels
    Constant Tile 4;
    Network net {
      Layer conv1 { // the first
        Type: CONV
        Stride { X: 2, Y: 1 }
        Dimensions { K: Tile, C: 3, R: 3, S: 3, Y: 8, X: 9 }
        Dataflow {
          SpatialMap(Tile, 2) K;
          TemporalMap(Sz(R), 1) Y;
          Cluster(Tile, L);
          SpatialMap(1,1) C;
        }
      }
    }"""
    found = read_mapping_file(text, "f.m")
    assert (found.constants, found.networks, found.names) == ((("Tile", 4),), ("net",), ("conv1",))
    (conv,) = found.checked()
    dims = (("K", 4), ("C", 3), ("R", 3), ("S", 3), ("Y", 8), ("X", 9))
    directives = (Map("K", 4, 2, spatial=True), Map("Y", Sz("R"), 1), Cluster(4), Map("C", 1, 1, spatial=True))
    assert conv.mapping == Mapping(Problem("CONV", dims, (("X", 2), ("Y", 1))), directives)
    assert conv.location == Location("f.m", 4, 13)
    assert conv.places == tuple(Location("f.m", line, 11) for line in (9, 10, 11, 12))


@pytest.mark.parametrize(
    "text",
    [
        f"\ufeffNetwork n {{\r\n{layer()}\r\n}}\r\n",
        f"Network {{ {layer()} }}",
        "Network n { " + layer(dims="K,4;C->2(R:3)S 3 Y\t8 X>8") + " } // the end",
        "Network n { " + layer(flow="SpatialMap 1 1 K TemporalMap Sz R Sz R R TemporalMap Sz S Sz S S") + " }",
        "Network n { " + layer(flow="SpatialMap(1->1) K //K\n; TemporalMap(Sz(R)-Sz(R)) R; TemporalMap(3-3) S") + " }",
        "Network n { " + layer(dims=f"{DIMS}, K: 4") + " }",
    ],
)
def test_what_only_separates_may_be_written_in_many_ways(text: str) -> None:
    (found,) = read_mapping_file(text, "f.m").checked()
    assert (found.mapping.problem.dims, found.name) == (tuple(dict(zip("KCRSYX", (4, 2, 3, 3, 8, 8))).items()), "a")
    sizes = [(m.dim, found.mapping.extent(m.size), m.spatial) for m in found.mapping.levels[0]]
    assert sizes == [("K", 1, True), ("R", 3, False), ("S", 3, False)]


@pytest.mark.parametrize(
    ("written", "name"), [("CONV2-1", "1"), ("a b (c)", "c"), ("r\u00e9s+1", "r_s+1"), ("x/y.z", "x/y.z"), ("a*", "a_")]
)
def test_the_last_word_is_the_name(written: str, name: str) -> None:
    assert file(layer(name=written)).names == (name,)


def test_output_sizes_become_input_sizes_whatever_the_stride() -> None:
    flow = "SpatialMap(1,1) K; TemporalMap(Sz(X'),1) X'; TemporalMap(Sz(S),Sz(S)) S;"
    found = mapping(layer("K: 4, C: 2, R: 3, S: 2, Y': 6, X': 7", flow, stride="Stride { X: 2, Y: 2 }"))
    assert found.problem.dims == (("K", 4), ("C", 2), ("R", 3), ("S", 2), ("Y", 8), ("X", 8))
    assert found.directives[1] == Map("X'", Sz("X'"), 1)
    assert found.extent(Sz("X'")) == 7


def test_every_type() -> None:
    assert mapping(layer("M: 2, N: 3, K: 4", "SpatialMap(1,1) M;", kind="GEMM")).problem.sizes == {
        "M": 2,
        "N": 3,
        "K": 4,
    }
    assert mapping(layer(f"G: 2, {DIMS}", kind="NGCONV")).problem.coupled("W") == ("G", "K", "C", "R", "S")
    assert mapping(layer(f"N: 2, {DIMS}", kind="TRCONV")).problem.coupled("I") == ("N", "C", "Y", "X")
    # MAESTRO's own files map the K that no tensor of such a layer has
    assert mapping(layer(kind="DSCONV")).directives == DIRECTIVES


def test_two_maps_of_one_dimension_at_a_level() -> None:
    flow = "SpatialMap(1,1) X; SpatialMap(1,1) S; TemporalMap(Sz(S),Sz(S)) S;"
    assert len(mapping(layer(flow=flow)).directives) == 3


def test_a_layer_without_dataflow_takes_that_of_the_layer_before() -> None:
    bare = "Layer b { Type: CONV Dimensions { K: 4, C: 2, R: 5, S: 1, Y: 8, X: 8 } }"
    first, second, third = file(layer(), bare, bare.replace("Layer b", "Layer c")).checked()
    assert second.mapping.directives == third.mapping.directives == first.mapping.directives
    assert second.mapping.extent(Sz("R")) == 5
    assert (first.warnings, second.warnings) == (
        (),
        ("f.m:3:7: layer 'b' has no Dataflow; it takes that of the layer before it",),
    )
    empty = "Layer d { Type: CONV Dimensions { K: 4, C: 2, R: 5, S: 1, Y: 8, X: 8 } Dataflow { } }"
    assert file(layer(), empty).checked()[1].mapping == second.mapping


def test_wrong_layers_fail_only_where_they_are_chosen() -> None:
    found = file(layer(), layer(name="b", kind="POOL"), layer(name="c", dims=f"{DIMS}, Q: 2"))
    assert found.names == ("a", "b", "c")
    assert [one.name for one in found.checked([0])] == ["a"]
    assert found.layers[0].checked() is found.layers[0]
    with pytest.raises(SourceError, match="found 'POOL'"):
        found.layers[1].checked()
    with pytest.raises(SourceErrors) as caught:
        found.checked([1, 2])
    assert [str(e.location) for e in caught.value.errors] == ["f.m:3:17", "f.m:4:72"]
    with pytest.raises(SourceErrors):
        found.checked()


def test_several_networks_and_constants() -> None:
    text = f"Constant T 1; Network a {{ {layer(flow=FLOW.replace('1', 'T'))} }} Constant T 2 Network b {{ {layer()} }}"
    found = read_mapping_file(text, "f.m")
    assert (found.networks, found.constants, len(found.layers)) == (("a", "b"), (("T", 2),), 2)
    assert found.checked()[0].mapping.directives == DIRECTIVES


@pytest.fixture(scope="module")
def reference() -> dict[str, MappingFile]:
    """All mapping files of the reference data."""
    paths = sorted((DATA / "mappings").rglob("*.m"))
    return {str(path.relative_to(DATA)): read_mapping_file(path.read_text("utf-8"), path.name) for path in paths}


def test_reference_files_are_read_as_maestro_does(reference: dict[str, MappingFile]) -> None:
    """Refused is what MAESTRO refuses, and nothing else."""
    with (DATA / "public.csv").open(newline="") as rows:
        for row in csv.DictReader(rows):
            found = reference[row["mapping_file"]].layers[int(row["layer_index"])]
            assert found.name == row["layer_name"]
            assert isinstance(found, WrongLayer) == (row["status"] == "rejected"), (row["mapping_file"], found.name)
            if isinstance(found, MappedLayer):
                levels = len(found.mapping.levels)
                assert (found.mapping.problem.kind, levels) == (row["layer_type"], int(row["num_levels"]))
                assert len(found.places) == len(found.mapping.directives)
            else:
                assert {e.message.split()[1] for e in found.errors} <= {"the", "a"}
                assert all(e.location is not None and e.hint for e in found.errors)
