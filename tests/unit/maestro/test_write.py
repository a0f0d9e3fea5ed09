"""Mapping files as text: the layout, and what names and sizes become."""

from pathlib import Path

import pytest

from npuc.dialects.mapping import Cluster, Map, Mapping, Problem, Sz
from npuc.frontends.maestro import MappedLayer, read_mapping_file, write_mapping_file

MAPPINGS = Path(__file__).parents[2] / "oracle" / "data" / "maestro" / "mappings"

DIMS = (("K", 4), ("C", 2), ("R", 3), ("S", 2), ("Y", 8), ("X", 9))
FILTER = (Map("R", Sz("R"), Sz("R")), Map("S", Sz("S"), Sz("S")))


def test_the_layout() -> None:
    conv = Mapping(
        Problem("CONV", DIMS, (("X", 2), ("Y", 2))),
        (Map("K", 1, 1, spatial=True), Map("Y", Sz("R"), 1), Cluster(2), Map("C", 1, 1, spatial=True)),
    )
    gemm = Mapping(Problem("GEMM", (("M", 2), ("N", 3), ("K", 4))), (Map("M", 1, 1, spatial=True),))
    assert write_mapping_file("two layers", [("CONV2-1", conv), ("fc", gemm)]) == (
        "Network two_layers {\n"
        "  Layer CONV2_1 {\n"
        "    Type: CONV\n"
        "    Stride { X: 2, Y: 2 }\n"
        "    Dimensions { K: 4, C: 2, R: 3, S: 2, Y: 8, X: 9 }\n"
        "    Dataflow {\n"
        "      SpatialMap(1, 1) K;\n"
        "      TemporalMap(Sz(R), 1) Y;\n"
        "      Cluster(2, P);\n"
        "      SpatialMap(1, 1) C;\n"
        "    }\n"
        "  }\n"
        "  Layer fc {\n"
        "    Type: GEMM\n"
        "    Dimensions { M: 2, N: 3, K: 4 }\n"
        "    Dataflow {\n"
        "      SpatialMap(1, 1) M;\n"
        "    }\n"
        "  }\n"
        "}\n"
    )


def test_names_become_words() -> None:
    gemm = Mapping(Problem("GEMM", (("M", 2), ("N", 3), ("K", 4))), (Map("M", 1, 1, spatial=True),))
    names = ["a b", "", "//x", "{", "a{b", "a-b", "Type", "Layer", "Network", "Constant", "r\u00e9s", "x/y.z+1"]
    for network in names:
        found = read_mapping_file(write_mapping_file(network, [(name, gemm) for name in names]), "f.m")
        assert found.names == (
            *("a_b", "_", "_/x", "_", "a_b", "a_b", "Type", "Layer", "Network", "Constant", "r_s", "x/y.z+1"),
        )
        assert [layer.mapping for layer in found.checked()] == [gemm] * len(names)


def test_sizes_of_the_output() -> None:
    asked = (Map("Y'", Sz("Y'"), Sz("Y'"), spatial=True), *FILTER)
    text = write_mapping_file("n", [("a", Mapping(Problem("CONV", DIMS), asked))])
    assert "Dimensions { K: 4, C: 2, R: 3, S: 2, Y': 6, X: 9 }" in text
    assert "SpatialMap(Sz(Y'), Sz(Y')) Y';" in text
    both = (Map("X", Sz("X"), 1, spatial=True), Map("Y'", Sz("Y'"), Sz("Y"), spatial=True), *FILTER)
    text = write_mapping_file("n", [("a", Mapping(Problem("CONV", DIMS), both))])
    assert "Dimensions { K: 4, C: 2, R: 3, S: 2, Y: 8, X: 9 }" in text
    assert "SpatialMap(Sz(X), 1) X;" in text
    assert "SpatialMap(6, Sz(Y)) Y';" in text


@pytest.mark.parametrize(
    "name",
    [
        "GEMM_Example",
        "MobileNetV2_kcp_ws",
        "ResNeXt50_rs",
        "Resnet50_nlr",
        "UNet_RS",
        "vgg16_yxp_os",
        "googlenet_ykp_os",
    ],
)
def test_files_of_maestro_survive(name: str) -> None:
    found = read_mapping_file((MAPPINGS / "maestro" / f"{name}.m").read_text("utf-8"), "f.m")
    layers = [(layer.name, layer.mapping) for layer in found.layers if isinstance(layer, MappedLayer)]
    again = read_mapping_file(write_mapping_file(found.networks[0], layers), "g.m")
    assert layers
    assert [(layer.name, layer.mapping) for layer in again.checked()] == layers
