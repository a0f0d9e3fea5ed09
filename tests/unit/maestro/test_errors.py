"""Mapping files that are wrong: each mistake is shown at its place, with what was expected there."""

import pytest

from npuc.compiler.core.errors import SourceError, SourceErrors
from npuc.frontends.maestro import read_mapping_file

FILE = """Constant Tile 2;
Network net {
  Layer conv1 {
    Type: CONV
    Stride { X: 2, Y: 2 }
    Dimensions { K: 4, C: 2, R: 3, S: 3, Y: 8, X: 8 }
    Dataflow {
      SpatialMap(1,1) K;
      TemporalMap(Sz(R),1) Y;
      Cluster(2, P);
      SpatialMap(Tile,1) C;
      TemporalMap(Sz(S),Sz(S)) S;
    }
  }
}
"""


def errors(text: str) -> list[str]:
    """The errors of a text as the command line shows them."""
    with pytest.raises(SourceError) as caught:
        read_mapping_file(text, "f.m").checked()
    found = caught.value
    return [e.render() for e in (found.errors if isinstance(found, SourceErrors) else (found,))]


def test_the_file_itself_is_right() -> None:
    assert len(read_mapping_file(FILE, "f.m").checked()) == 1


def test_an_error_shows_its_line() -> None:
    assert errors(FILE.replace("SpatialMap(1", "SpacialMap(1")) == [
        "f.m:8:7: error: found 'SpacialMap', expected SpatialMap, TemporalMap, Cluster or '}'\n"
        "          SpacialMap(1,1) K;\n"
        "          ^\n"
        "  hint: did you mean 'SpatialMap'?"
    ]


SIZE = "from 1 to 2,147,483,647"
WRONG = [
    # words where others should be
    (
        "Constant Tile",
        "Constnt Tile",
        "1:1: error: found 'Constnt', expected Constant or Network",
        "did you mean 'Constant'",
    ),
    ("Constant Tile 2;", "#Tile", "1:1: error: found '#Tile', expected Constant or Network", "begin with //"),
    ("Constant Tile 2;", "num_pes: 4", "1:1: error: found 'num_pes', expected Constant", "--hw"),
    ("Tile 2;", "Tile two;", "1:15: error: found 'two', expected a number from 0 to 2,147,483,647", "Constant Tile 8;"),
    ("Tile 2;", "Tile -2;", "1:16: error: found '-2', expected a number from 0", ""),
    ("Tile 2;", "Tile 0;", "11:18: error: found 'Tile', expected a size of at least 1", "Tile is 0"),
    ("Constant Tile 2;", "Constant {", "1:10: error: found '{', expected the name of the Constant", ""),
    ("Network", "Netwrk", "2:1: error: found 'Netwrk', expected Constant or Network", "did you mean 'Network'"),
    ("  Layer conv1", "  Layr conv1", "3:3: error: found 'Layr', expected Layer or '}'", "did you mean 'Layer'"),
    ("Layer conv1 {", "Layer {", "3:9: error: found '{', expected the name of the Layer", ""),
    ("Layer conv1 {", "Layer conv1", "4:5: error: found 'Type', expected '{' after the name of the Layer", ""),
    ("Layer conv1 {", "Layer conv1 }", "3:15: error: found '}', expected '{'", ""),
    (
        "Type: CONV",
        "Typ: CONV",
        "4:5: error: found 'Typ', expected Type, Stride, Dimensions, Dataflow or '}'",
        "'Type'",
    ),
    ("Type: CONV", "Type: CONW", "4:11: error: found 'CONW', expected a type: CONV, DSCONV", "did you mean 'CONV'"),
    ("Type: CONV", "Type: LSTM", "4:11: error: found 'LSTM', expected a type: CONV, DSCONV", ""),
    ("Type: CONV", "", "3:9: error: layer 'conv1' has no Type", "Type: CONV"),
    ("Type: CONV", "Type: CONV Type: CONV", "4:16: error: Type is there twice, first in line 4", ""),
    ("Stride {", "Stride {X:", "5:12: error: found '{X', expected '{' after Stride", "between blanks"),
    ("Stride { X", "Stride { K", "5:14: error: found 'K', expected X, Y or '}'", "only rows and columns"),
    ("{ X: 2,", "{ X: Tile,", "5:17: error: found 'Tile', expected a stride from 1", "not for strides"),
    ("{ X: 2,", "{ X: 0,", "5:17: error: found '0', expected a stride from 1", ""),
    ("Dataflow {", "Dataflow", "8:7: error: found 'SpatialMap', expected '{' after Dataflow", ""),
    ("Cluster(2, P)", "Cluster(2, Q)", "10:18: error: found 'Q', expected P or L", "Cluster(64, P)"),
    ("1) Y;", "1);", "10:7: error: found 'Cluster', expected the dimension of the map", "TemporalMap(1, 1) K"),
    ("(1,1) K;", "(1,1) 3;", "8:23: error: found '3', expected the dimension of the map", ""),
    ("(1,1) K;", "(1) K;", "8:21: error: found 'K', expected a Constant, or an offset from 1", "Constant K 8;"),
    # braces
    (
        "  }\n}\n",
        "}\n",
        "14:2: error: found the end of the file, expected Layer or '}'",
        "the '{' of line 2 is not closed",
    ),
    ("    }\n  }\n}\n", "", "12:33: error: found the end of the file, expected '}'", "the '{' of line 3 is not closed"),
    ("X: 8 }", "X: 8}", "6:51: error: found '8}', expected words and braces apart", "a brace stands between blanks"),
    ("    }\n  }", "    }}", "13:5: error: found '}}', expected words and braces apart", "between blanks"),
    (
        "}\n}\n",
        "}\n}\n}\n",
        "16:1: error: found '}', expected Constant or Network",
        "the '}' of line 15 closes the Network",
    ),
    # sizes
    ("K: 4", "K: 0", f"6:21: error: found '0', expected a Constant, or a size {SIZE}", ""),
    ("K: 4", "K: -4", "6:22: error: found '-4', expected a Constant, or a size", ""),
    ("K: 4", "K: 2147483648", "6:21: error: found '2147483648', expected a Constant, or a size", ""),
    ("K: 4", f"K: {'9' * 5000}", f"6:21: error: found '{'9' * 40}…', expected a Constant, or a size", ""),
    ("K: 4", "K: 4.5", "6:21: error: found '4.5', expected a Constant, or a size", ""),
    ("K: 4", "K: Tilo", "6:21: error: found 'Tilo', expected a Constant, or a size", "did you mean 'Tile'"),
    ("K: 4", "K: big", "6:21: error: found 'big', expected a Constant, or a size", "Constant big 8;"),
    ("K: 4", "K: \u0663", "6:21: error: found '\u0663', expected a Constant, or a size", ""),
    ("X: 8 }", "X: 8//8\n}", "6:51: error: found '8//8', expected a Constant, or a size", "a blank stands before //"),
    ("(1,1) K", "(0,1) K", "8:18: error: found '0', expected a Constant, or a size", ""),
    ("(1,1) K", "(1,0) K", "8:20: error: found '0', expected a Constant, or an offset", ""),
    ("Cluster(2", "Cluster(0", "10:15: error: found '0', expected a Constant, or a size", ""),
    # dimensions
    (
        "C: 2, ",
        "",
        "6:5: error: layer 'conv1' has no dimension C, expected C, K, R, S, X and Y of CONV",
        "Dimensions {",
    ),
    ("K: 4", "Q: 4", "6:18: error: found 'Q', expected a dimension of CONV", "known: "),
    ("K: 4,", "K: 4, K: 5,", "6:24: error: found another size of K, 5 after 4, expected one", ""),
    ("X: 8 }", "X: 8, X': 6 }", "6:54: error: found 'X'' beside X, expected one of them", "follows"),
    ("K: 4,", "K: 4 5,", "6:23: error: found '5', expected a dimension or '}'", ""),
    ("Y: 8", "Y: 2", "6:42: error: Y is 2, smaller than the filter: R is 3", ""),
    ("X: 8 }", "X': 2147483647 }", "6:48: error: X is 2,147,483,649, expected at most 2,147,483,647", ""),
    ("C: 2", "M: 2", "6:24: error: found 'M', expected a dimension of CONV", "known: "),
    # directives
    (
        "(1,1) K;",
        "(1,1) N;",
        "8:23: error: found 'N', expected K, C, R, S, Y, X, Y' or X', the dimensions of the layer",
        "",
    ),
    ("Sz(R),1", "Sz(G),1", "9:22: error: found 'G' in Sz, expected K, C, R, S, Y or X, which Dimensions give", ""),
    ("Sz(R),1", "Sz(X'),1", "9:22: error: found 'X'' in Sz, expected K, C, R, S, Y or X, which Dimensions give", ""),
    ("Sz(S),Sz(S)", "Sz(S),1", "12:25: error: found the offset 1 of S, expected 3, the size", "takes the filter whole"),
    ("Sz(S),Sz(S)", "2,2", "12:19: error: found a temporal map of 2 of S, expected 3, all of S", "whole in time"),
    ("Sz(S),Sz(S)", "7,7", "12:19: error: found a temporal map of 7 of S, expected 3, all of S", "whole in time"),
    ("Spatial", "Temporal", "7:5: error: level 0 has no SpatialMap, expected one or two", "SpatialMap(1, 1) K;"),
    ("SpatialMap(T", "TemporalMap(T", "10:7: error: level 1 has no SpatialMap, expected one or two", ""),
    ("(1,1) K;", "(1,1) K; SpatialMap(1,1) C; SpatialMap(1,1) X;", "8:45: error: level 0 has 3 spatial maps", ""),
    (
        "(1,1) K;",
        "(1,1) K;" + " TemporalMap(1,1) K;" * 10,
        "8:206: error: level 0 has 12 maps, expected at most 10",
        "",
    ),
    (
        ") C;",
        ") C;" + " Cluster(1,P); SpatialMap(1,1) K;" * 3,
        "11:95: error: found a Cluster after 3 others",
        "at most 3",
    ),
    (
        "1) Y;",
        "1) Y';",
        "9:28: error: found a map of Y', expected one of R at the same level",
        "TemporalMap(Sz(R), Sz(R)) R",
    ),
    ("S;", "S; TemporalMap(1,1) X; TemporalMap(1,1) X';", "12:72: error: found a map of X' beside one of X", ""),
]


@pytest.mark.parametrize(("right", "wrong", "message", "hint"), WRONG)
def test_one_mistake(right: str, wrong: str, message: str, hint: str) -> None:
    count = 1 if right.startswith(("}", "  }", "    }")) is False else -1
    text = FILE.replace(right, wrong, count) if count == 1 else wrong.join(FILE.rsplit(right, 1))
    assert text != FILE
    (found,) = errors(text)
    assert f"f.m:{message}" in found, found
    assert hint in found.partition("hint:")[2], found


def test_a_layer_that_is_not_closed_is_wrong_alone() -> None:
    second = FILE[FILE.index("  Layer") : FILE.rindex("}")].replace("conv1", "conv2")
    text = FILE.replace("    }\n  }\n}\n", f"    }}\n{second}}}\n")
    (found,) = errors(text)
    assert found.startswith("f.m:14:3: error: found 'Layer', expected '}'")
    assert "the '{' of line 3 is not closed" in found
    assert [layer.name for layer in read_mapping_file(text, "f.m").checked([1])] == ["conv2"]


def test_several_mistakes_at_once() -> None:
    text = FILE.replace("K: 4", "K: 0").replace("X: 2", "X: 0")
    assert [e.partition(" error")[0] for e in errors(text)] == ["f.m:5:17:", "f.m:6:21:"]
    text = FILE.replace("Sz(S),Sz(S)", "2,2").replace("1) Y", "1) N")
    assert [e.partition(" error")[0] for e in errors(text)] == ["f.m:9:28:", "f.m:12:19:"]


@pytest.mark.parametrize("text", ["", "\n\n", "// nothing", "Network n { }", "Constant a 1;"])
def test_a_file_without_layers(text: str) -> None:
    (found,) = errors(text)
    assert "expected a Layer in a Network" in found


def test_too_many_directives() -> None:
    (found,) = errors(FILE.replace("(1,1) K;", "(1,1) K;" + " TemporalMap(1,1) C;" * 100))
    assert found.startswith("f.m:8:2006: error: found 'TemporalMap', expected at most 100 directives")


def test_strides_after_dimensions() -> None:
    lines = FILE.splitlines()
    text = "\n".join([*lines[:4], lines[5], lines[4], *lines[6:]])
    (found,) = errors(text)
    assert found.startswith("f.m:6:5: error: found Stride, expected it before Dimensions")
    assert "MAESTRO sets strides when it reads" in found


def test_dimensions_of_another_type() -> None:
    assert [e.partition("\n")[0] for e in errors(FILE.replace("CONV", "GEMM"))] == [
        f"f.m:6:{col}: error: found '{dim}', expected a dimension of GEMM"
        for dim, col in (("C", 24), ("R", 30), ("S", 36), ("Y", 42), ("X", 48))
    ]


def test_no_dataflow_to_take() -> None:
    bare = "Layer b { Type: GEMM Dimensions { M: 2, N: 2, K: 2 } }"
    (found,) = errors(f"Network n {{ {bare} }}")
    assert found.startswith("f.m:1:19: error: layer 'b' has no Dataflow")
    (found,) = errors(FILE.rstrip()[:-1] + f"  {bare}\n}}\n")
    assert found.startswith("f.m:15:9: error: found 'Y', expected M, N or K, the dimensions of the layer")


def test_sz_before_dimensions() -> None:
    lines = FILE.splitlines()
    text = "\n".join([*lines[:4], *lines[6:13], lines[5], *lines[13:]])
    assert [e.partition("\n")[0] for e in errors(text)] == [
        f"f.m:{place}: error: found Sz before there are Dimensions" for place in ("7:19", "10:19", "10:25")
    ]
