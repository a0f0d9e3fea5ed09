"""Frontends are found: npuc's own by their folders, others by what installed distributions publish."""

import struct
import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import npuc.frontends
from npuc.compiler import compile_file, compile_source, describe_file
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import NpucError, SourceError, UsageError
from npuc.frontends.base import Frontend, Program, Request, Source
from npuc.frontends.registry import frontend_for, frontend_names, get_frontend, own_frontends, suffixes_of
from npuc.frontends.source import open_source, text_source

OWN = ("cfg", "dsl", "jax", "keras", "m", "mlir", "onnx", "csv", "pt2")

SQUARE = '''
"""Square products: a count and a size, one byte each."""

from npuc.frontends.base import Frontend, Program
from npuc.compiler.core.errors import SourceError


class Square(Frontend):
    """Square products."""

    name = "square"
    title = "a file of squares"
    suffixes = ("sq", "sqr")
    binary = True
    lists_layers = True
    backend = "roofline"

    def read(self, source, request):
        from npuc.frontends.tables.build import read_table_program

        if len(source.data) != 2:
            raise SourceError(f"{source.filename}: found {len(source.data)} bytes, expected 2")
        count, size = source.data
        text = "layer,M,N,K\\n" + "".join(f"p{i},{size},{size},{size}\\n" for i in range(count))
        program = read_table_program(text, source.filename, max_ops=request.max_ops, choose=request.choose)
        return Program(program.module, ("sizes are of one byte",))


class Fails(Square):
    name = "fails"
    suffixes = ()

    def read(self, source, request):
        raise KeyError("a defect of its own")


class Wrong(Square):
    name = "wrong"
    suffixes = ()

    def read(self, source, request):
        return 3


class Misnamed(Square):
    name = "another"


FRONTEND = Square()
'''

ENTRY_POINTS = """
[npuc.frontends]
square = square_model:Square
fails = square_model:Fails
wrong = square_model:Wrong
misnamed = square_model:Misnamed
absent = square_model:Nobody
dsl = square_model:Square
"""


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed distribution with frontends; a folder to work in."""
    home = tmp_path / "installed"
    info = home / "square_model-1.0.dist-info"
    info.mkdir(parents=True)
    (home / "square_model.py").write_text(SQUARE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: square_model\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.setattr(sys, "path", [str(home), *sys.path])
    monkeypatch.chdir(tmp_path)
    invalidate_caches()
    yield tmp_path
    sys.modules.pop("square_model", None)


def test_own_frontends_have_a_folder_each() -> None:
    assert tuple(own_frontends()) == OWN
    suffixes = [suffixes_of(frontend)[0] for frontend in own_frontends().values()]
    assert [frontend_for(suffix) for suffix in suffixes] == list(own_frontends().values())
    assert suffixes == [{"keras": "json", "jax": "mlirbc"}.get(name, name) for name in OWN]


def test_one_from_outside_is_read_by_every_verb(published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("net.sqr").write_bytes(bytes([3, 16]))
    report = compile_file("net.sqr")
    assert report.backend == "roofline"
    assert report.totals.macs == 3 * 16**3
    assert report.warnings == ["sizes are of one byte"]
    assert [row.name for row in compile_file("net.sqr", only=["p1"]).ops] == ["p1"]
    assert describe_file("net.sqr")["params"].keys() == {"p0.weight", "p1.weight", "p2.weight"}
    assert compile_source(bytes([1, 8]), format="square").totals.macs == 8**3
    for line in (["compile", "net.sqr"], ["check", "net.sqr"], ["explain", "net.sqr", "p1", "-b", "cycle"]):
        assert run_command(line) == 0, line
    assert run_command(["list", "frontends"]) == 0
    assert "square    .sq .sqr            Square products." in capsys.readouterr().out
    assert run_command(["sweep", "net.sqr", "--vary", "memory.spm_kib=64,128", "-b", "cycle", "--csv", "-"]) == 0


def test_its_errors_are_its_own(published: Path) -> None:
    Path("net.sq").write_bytes(b"long")
    with pytest.raises(SourceError, match=r"net\.sq: found 4 bytes, expected 2$"):
        compile_file("net.sq")
    with pytest.raises(SourceError, match="frontend 'fails' failed: KeyError"):
        compile_source(b"", format="fails")
    with pytest.raises(SourceError, match="frontend 'wrong' returned int, expected a Program"):
        compile_source(b"", format="wrong")
    with pytest.raises(UsageError, match="the frontend 'misnamed' calls itself 'another'"):
        get_frontend("misnamed")
    with pytest.raises(UsageError, match="frontend 'absent' cannot be loaded from square_model:Nobody"):
        get_frontend("absent")
    with pytest.raises(UsageError, match="found a text, expected bytes: a file of squares is no text"):
        text_source("ab", "square", "<string>")


def test_what_asks_for_parameters_is_told_that_there_are_none(published: Path) -> None:
    Path("net.sq").write_bytes(bytes([1, 4]))
    with pytest.raises(UsageError, match="-D batch: a file of squares has no parameters"):
        compile_file("net.sq", defines={"batch": 2})


def test_own_frontends_win_and_are_not_replaced(published: Path) -> None:
    assert frontend_names() == (*OWN, "absent", "fails", "misnamed", "square", "wrong")
    assert type(get_frontend("dsl")).__module__ == "npuc.frontends.dsl.frontend"


def test_it_is_gone_with_its_distribution(tmp_path: Path) -> None:
    file = tmp_path / "net.sq"
    file.write_bytes(b"ab")
    with pytest.raises(UsageError, match="cannot tell the format of"):
        open_source(file)
    with pytest.raises(UsageError) as caught:
        get_frontend("msir")
    assert caught.value.hint == "did you mean 'mlir'?"


def test_a_folder_is_all_that_one_of_our_own_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "squares"
    folder.mkdir()
    (folder / "frontend.py").write_text(SQUARE)
    monkeypatch.setattr(npuc.frontends, "__path__", [*npuc.frontends.__path__, str(tmp_path)])
    own_frontends.cache_clear()
    try:
        assert set(own_frontends()) == {*OWN, "square"}
        (tmp_path / "net.sq").write_bytes(bytes([2, 4]))
        assert compile_file(tmp_path / "net.sq").totals.macs == 2 * 4**3
    finally:
        monkeypatch.undo()
        own_frontends.cache_clear()
        sys.modules.pop("npuc.frontends.squares.frontend", None)
    with pytest.raises(UsageError):
        open_source(tmp_path / "net.sq")


class _Sizes(Frontend):
    """Takes any bytes."""

    name = "sizes"
    title = "sizes"
    binary = True

    def read(self, source: Source, request: Request) -> Program:
        struct.unpack("<I", source.data)
        raise SourceError("no program")


def test_binary_content_has_no_text() -> None:
    source = Source(b"\xff\x00", _Sizes(), "f.sizes", "f.sizes")
    assert (source.text, source.data, source.format) == ("", b"\xff\x00", "sizes")


@given(st.binary(max_size=40), st.sampled_from(OWN))
def test_bytes_are_read_or_refused(data: bytes, format: str) -> None:
    """Whatever comes as bytes: a program, or one of npuc's errors."""
    try:
        source = text_source(data, format, "fuzz")
        source.frontend.read(source, Request())
    except NpucError:
        pass


@given(st.text(max_size=12).filter(lambda text: "/" not in text and "\0" not in text))
def test_any_suffix_is_known_or_refused(name: str) -> None:
    with pytest.raises(UsageError):
        open_source(f"no-such-folder/{name}")
