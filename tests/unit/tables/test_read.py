"""Layer tables: what the readers take from each kind, and what they say of a wrong one."""

from collections.abc import Sequence

import pytest

from npuc.compiler.core.errors import SourceError, SourceErrors
from npuc.frontends.tables import Convolution, Product, Table, TableLayer, read_table

GEMM_HEADER = "Layer, M, N, K,\n"
CONV_HEADER = "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n"
CONV = Convolution(56, 56, 3, 3, 8, 16, 2, 2)


def layers(text: str) -> list[TableLayer]:
    return list(read_table(text, "t.csv").layers)


def test_products_by_the_names_of_their_columns() -> None:
    text = "npu,model,layer,M,N,K,count,has_dX\nlarge,res,conv2_a1,25088,64,576,3,1\nsmall,res,conv1,4,5,6,1,0\n"
    assert read_table(text, "t.csv") == Table(
        (
            TableLayer("large/res/conv2_a1", 2, Product(25088, 64, 576), 3, True),
            TableLayer("small/res/conv1", 3, Product(4, 5, 6), 1, False),
        ),
        training=True,
    )


@pytest.mark.parametrize("header", ["K,layer,N,M", "k, Layer ,n,m,", "K,LAYER,N,M,note"])
def test_columns_stand_in_any_order(header: str) -> None:
    assert layers(f"{header}\n3,a,2,1\n") == [TableLayer("a", 2, Product(1, 2, 3))]


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("layer,M,N,K,cuont\na,1,2,3,4\n", ["t.csv:1:13: nothing reads the column 'cuont' (did you mean 'count'?)"]),
        ("M,N,K,,note\n1,2,3,,\n", ["t.csv:1:8: nothing reads the column 'note' (known: "]),
        (
            "layer,M,N,K,count\na,1,2,3,4,,5\nb,1,2,3,4,,6\n",
            ["t.csv:2:12: nothing reads '5', which is under"],
        ),
        ("net,layer,M,N,K,count,has_dX,N:M,\nx,a,1,2,3,4,1,1:2,\n", []),
        ("layer,M,N,K,,\na,1,2,3,1:2,,\n", []),
    ],
)
def test_columns_that_mean_nothing_are_told_of(text: str, warnings: list[str]) -> None:
    found = read_table(text, "t.csv").warnings
    assert len(found) == len(warnings)
    assert all(one.startswith(start) for one, start in zip(found, warnings, strict=True))


def test_a_table_without_names() -> None:
    assert [layer.name for layer in layers("M,N,K\n1,2,3\n4,5,6\n")] == ["layer0", "layer1"]
    assert [layer.name for layer in layers("net,part,M,N,K\na,b,1,2,3\n")] == ["a/b"]


@pytest.mark.parametrize(
    "text",
    [
        GEMM_HEADER + "a, 1, 2, 3,\n",
        GEMM_HEADER + "a,1,2,3\n",
        "\ufeff" + GEMM_HEADER.replace("\n", "\r\n") + "\r\n a ,\t1, 2 ,3 ,,\r\n\r\n,,,\r\n",
        "names of layers, rows, columns, inner\na,1,2,3,\n",
        '"Layer","M","N","K"\n"a","1","2","3"\n',
    ],
)
def test_gemm_topologies_as_files_have_them(text: str) -> None:
    (layer,) = layers(text)
    assert (layer.name, layer.work, layer.count, layer.sparsity) == ("a", Product(1, 2, 3), 1, None)


def test_sparsity_of_a_gemm() -> None:
    found = layers("Layer, M, N, K, Sparsity,\na,1,2,3,2:4,\nb,1,2,3,1:1,\nc,1,2,3,,\nd,1,2,3\n")
    assert [layer.sparsity for layer in found] == [(2, 4), None, None, None]
    assert layers(GEMM_HEADER + "a,1,2,3,2:4,\n")[0].sparsity == (2, 4)
    assert layers("name, rows, columns, inner, ratio,\na,1,2,3, 4 : 8 ,\n")[0].sparsity == (4, 8)


@pytest.mark.parametrize(
    ("row", "work", "sparsity"),
    [
        ("a, 56, 56, 3, 3, 8, 16, 2,", CONV, None),
        ("a,56,56,3,3,8,16,2", CONV, None),
        ("a,56,56,3,3,8,16,2x1,", Convolution(56, 56, 3, 3, 8, 16, 2, 1), None),
        ("a,56,56,3,3,8,16,2,1:4,", CONV, (1, 4)),
        ("a,56,56,3,3,8,16,2,1:1", CONV, None),
        ("a,56,56,3,3,8,16,2,#dw", CONV, None),
        ("a,56,56,3,3,8,16,2 ,, # 28, 28", CONV, None),
        ("a,56,56,3,3,8,16,2,,,28,28,784", CONV, None),
        ("a\t56\t56\t3\t3\t8\t16\t2\t", CONV, None),
        ("# b,1,1\na,56,56,3,3,8,16,2", CONV, None),
    ],
)
def test_convolutions(row: str, work: Convolution, sparsity: tuple[int, int] | None) -> None:
    (layer,) = layers(CONV_HEADER + row + "\n")
    assert (layer.name, layer.work, layer.sparsity) == ("a", work, sparsity)
    assert layer.line == 2 + row.count("\n")


@pytest.mark.parametrize(
    ("height", "kernel", "stride", "out", "overhang"),
    [(56, 3, 2, 28, 1), (57, 3, 2, 28, 0), (224, 11, 4, 55, 3), (3, 3, 5, 1, 0), (4, 1, 3, 2, 0), (5, 1, 3, 3, 2)],
)
def test_positions_are_rounded_up(height: int, kernel: int, stride: int, out: int, overhang: int) -> None:
    conv = Convolution(height, 9, kernel, 1, 1, 1, stride, 1)
    assert (conv.out_height, conv.overhang) == (out, (overhang, 0))
    assert out == -(-(height - kernel + stride) // stride)


def test_other_characters_of_names() -> None:
    (layer,) = layers(GEMM_HEADER + "a b:c/d-e+f.g_1\u00e9(2),1,2,3,\n")
    assert layer.name == "a_b_c/d-e+f.g_1__2_"
    assert layers(GEMM_HEADER + "x,1,2,3,\n,1,2,3,\n")[1].name == "layer1"


def test_convolutions_by_channel() -> None:
    text = CONV_HEADER + "a,9,9,3,3,8,16,1,\nConvDP1,9,9,3,3,4,1,1,\n"
    table = read_table(text, "t.csv", channels=True)
    one = Convolution(9, 9, 3, 3, 1, 1, 1, 1)
    assert [layer.work for layer in table.layers[1:]] == [one] * 4
    assert {layer.name for layer in table.layers[1:]} == {"ConvDP1"}
    assert "1 convolution whose name contains DP" in table.warnings[0]
    assert len(read_table(text, "t.csv").layers) == 2


def test_a_first_line_that_is_a_layer_is_kept() -> None:
    table = read_table("a,1,2,3,\nb,4,5,6,\n", "t.csv")
    assert [layer.line for layer in table.layers] == [1, 2]
    assert "t.csv:1" in table.warnings[0]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "1:1", "empty"),
        ("\n \n,,\n", "1:1", "empty"),
        (GEMM_HEADER, "1:1", "no layers"),
        (GEMM_HEADER + "a, 1, two, 3,\n", "2:7", "N: found 'two', expected a whole number from 1"),
        (GEMM_HEADER + "a,1,2,0,\n", "2:7", "K: found '0'"),
        (GEMM_HEADER + "a,1,2,-3,\n", "2:7", "K: found '-3'"),
        (GEMM_HEADER + "a,1,2,3.0,\n", "2:7", "K: found '3.0'"),
        (GEMM_HEADER + "a,1,2,99999999999,\n", "2:7", "K: found '99999999999'"),
        (GEMM_HEADER + "a,1,,3,\n", "2:5", "N is missing"),
        (GEMM_HEADER + "a,1,2\n", "2:6", "K is missing"),
        (CONV_HEADER + "a,9,9,3,3,4,5,1,2:4,7,\n", "2:1", "found 10 cells"),
        (CONV_HEADER + "a,9,9,3,3,4,5,1,\nb,9,9,3,3,\n", "3:1", "found 5 cells, expected 8 or 9 (a convolution)"),
        (CONV_HEADER + "  b,9,9,3,\n", "2:3", "found 4 cells, expected 8 or 9 (a convolution)"),
        ("name,x,y,z\na,9,9,3,3,4,5,1,\n", "2:1", "found 8 cells, expected 4 or 5 (name, M, N, K)"),
        ("name\tM\tN\tK\na\t1\tx\t3\n", "2:5", "N: found 'x'"),
        ("name,x,y,z\na,1,2\n", "2:1", "found 3 cells, expected 4 or 5"),
        ("name,x,y,z\n  a\n", "2:3", "found 1 cell, expected 4 or 5"),
        ("M,N,K,M\n1,2,3,4\n", "1:7", "two columns are named 'M'"),
        ("layer,M,N,K,count\na,1,2,3,0\n", "2:9", "count: found '0'"),
        ("layer,M,N,K,has_dX\na,1,2,3,maybe\n", "2:9", "has_dX: found 'maybe', expected 1 or 0"),
        (GEMM_HEADER + "a,1,2,3,4\n", "2:9", "the sparsity: found '4'"),
        ("layer,M,N,K,N:M\na,1,2,3,4:2\n", "2:9", "the sparsity: found '4:2'"),
        (CONV_HEADER + "a,9,9,3,3,4,5,0,\n", "2:15", "the stride: found '0'"),
        (CONV_HEADER + "a,9,9,3,3,4,5,0x1,\n", "2:15", "the stride: found '0x1'"),
        (CONV_HEADER + "a,9,9,3,3,4,5,1,2,\n", "2:17", "the sparsity: found '2'"),
        (CONV_HEADER + "a,2,9,3,3,4,5,1,\n", "2:7", "the height of the filter is 3, the height of the input is 2"),
        (CONV_HEADER + "a,9,9,3,30,4,5,1,\n", "2:9", "the width of the filter is 30, the width of the input is 9"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, place: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        read_table(text, "t.csv")
    assert str(caught.value.location) == f"t.csv:{place}"
    assert message in caught.value.message


def test_every_malformed_cell_is_an_error_of_its_own() -> None:
    with pytest.raises(SourceErrors) as caught:
        read_table(GEMM_HEADER + "a,x,y,3,\nb,1,2,3,\nc,1,2,z,\n", "t.csv")
    assert [str(e.location) for e in caught.value.errors] == ["t.csv:2:3", "t.csv:2:5", "t.csv:4:7"]


def test_rows_that_are_left_out_cannot_fail() -> None:
    text = GEMM_HEADER + "a,x,y,3,\nb,1,2,3,\nc\n"
    names: list[str] = []

    def choose(found: Sequence[str]) -> list[int]:
        names.extend(found)
        return [1]

    assert [layer.name for layer in read_table(text, "t.csv", choose=choose).layers] == ["b"]
    assert names == ["a", "b", "c"]


def test_too_many_layers() -> None:
    with pytest.raises(SourceError, match="more than 5 layers") as caught:
        read_table(CONV_HEADER + "a,9,9,3,3,4,5,1,\nDP,9,9,3,3,2000000000,5,1,\n", "t.csv", channels=True, most=5)
    assert str(caught.value.location) == "t.csv:3:1"
