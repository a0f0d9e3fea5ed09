"""Imports: where files are looked for, and what is refused."""

from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.core.errors import SourceError, UsageError
from npuc.dialects.provenance import location_text
from npuc.dialects.train.base import TrainOp
from npuc.frontends import read_source, read_text

BLOCK = "block f(x) {\n  return relu(x)\n}\n"
NETWORK = "network t() { input x: f32[4]; h = f(x); output h }\n"


def read(path: Path) -> ModuleOp:
    """The program in a file."""
    return read_source(read_text(str(path)), filename=str(path), training=False)


def write(folder: Path, **files: str) -> Path:
    """Write `name.dsl` for each given name; the path of `net.dsl`."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.dsl"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "net.dsl"


def failure(path: Path) -> str:
    """The messages of a wrong program, without the folder it is in."""
    with pytest.raises(SourceError) as caught:
        read(path)
    return caught.value.render().replace(f"{path.parent}/", "")


def test_paths_are_relative_to_the_importing_file(tmp_path: Path):
    path = write(tmp_path, net=f'import "lib/f.dsl"\n{NETWORK}', lib__f='import "g.dsl"\n' + BLOCK, lib__g="")
    places = [location_text(op) for op in read(path).walk() if isinstance(op, TrainOp)]
    assert places == [f"{tmp_path}/lib/f.dsl:3:10"]


def test_text_without_a_file_imports_from_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(tmp_path, f=BLOCK)
    monkeypatch.chdir(tmp_path)
    for filename in ("<string>", "<stdin>", "-"):
        assert "train.relu" in str(read_source(f'import "f.dsl"\n{NETWORK}', filename=filename, training=False))


def test_a_file_imported_twice_counts_once(tmp_path: Path):
    text = 'import "a.dsl"\nimport "f.dsl"\nimport "../' + tmp_path.name + '/f.dsl"\n'
    path = write(tmp_path, net=text + NETWORK, a='import "f.dsl"\n', f=BLOCK)
    assert "train.relu" in str(read(path))


def test_cycle(tmp_path: Path):
    path = write(tmp_path, net='import "a.dsl"\n' + NETWORK, a='import "b.dsl"\n' + BLOCK, b='import "a.dsl"\n')
    assert "b.dsl:1:8: error: the files import each other: a.dsl -> b.dsl -> a.dsl" in failure(path)


def test_import_of_itself(tmp_path: Path):
    path = write(tmp_path, net='import "net.dsl"\n' + NETWORK)
    assert "net.dsl:1:8: error: the files import each other: net.dsl -> net.dsl" in failure(path)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("/etc/f.dsl", "found the absolute path '/etc/f.dsl', expected one relative to the importing file"),
        ("~/f.dsl", "found the absolute path '~/f.dsl'"),
        ("", "found an empty path, expected the name of a file"),
        ("g.dsl", "cannot import: cannot read 'g.dsl': No such file or directory"),
        ("lib", "cannot import: 'lib' is no regular file"),
    ],
)
def test_refused_paths(tmp_path: Path, written: str, message: str):
    (tmp_path / "lib").mkdir()
    path = write(tmp_path, net=f'import "{written}"\n{NETWORK}', f=BLOCK)
    assert f"net.dsl:1:8: error: {message}" in failure(path)


def test_missing_file_names_the_nearest(tmp_path: Path):
    path = write(tmp_path, net='import "blocs.dsl"\n' + NETWORK, blocks=BLOCK)
    assert "hint: did you mean 'blocks.dsl'?" in failure(path)


def test_imported_files_hold_blocks_only(tmp_path: Path):
    path = write(tmp_path, net='import "f.dsl"\n' + NETWORK, f=BLOCK + NETWORK.replace(" t(", " u("))
    assert "f.dsl:4:1: error: found network 'u' in an imported file, expected blocks only" in failure(path)


def test_block_names_are_unique_over_files(tmp_path: Path):
    path = write(tmp_path, net='import "f.dsl"\n' + BLOCK + NETWORK, f=BLOCK)
    assert "net.dsl:2:7: error: block 'f' is defined twice, first at f.dsl:1:7" in failure(path)


def test_errors_of_all_files_are_reported(tmp_path: Path):
    path = write(tmp_path, net='import "f.dsl"\nnetwork t() { x = }', f="block f(x) { return }\nblock g(x) { y = ) }")
    messages = failure(path)
    assert [line.split(" error")[0] for line in messages.split("\n") if "error" in line] == [
        "f.dsl:1:21:", "f.dsl:2:18:", "net.dsl:2:19:",
    ]  # fmt: skip


def test_bytes_that_are_not_text(tmp_path: Path):
    path = write(tmp_path, net='import "f.dsl"\n' + NETWORK)
    (tmp_path / "f.dsl").write_bytes(b"# \xc3\xa9\nblock \xff")
    assert "f.dsl:2:7: error: found the byte 0xff, which is not UTF-8" in failure(path)


def test_deep_imports_end(tmp_path: Path):
    files = {f"f{i}": f'import "f{i + 1}.dsl"\n' for i in range(60)}
    path = write(tmp_path, net='import "f0.dsl"\n' + NETWORK, f60=BLOCK, **files)
    assert "imports are nested more than 32 deep" in failure(path)


# ---- reading


def test_missing_file_is_wrong_usage(tmp_path: Path):
    (tmp_path / "mlp.dsl").touch()
    with pytest.raises(UsageError, match=r"cannot read '.*mpl\.dsl': No such file or directory") as caught:
        read_text(str(tmp_path / "mpl.dsl"))
    assert caught.value.exit_code == 2
    assert caught.value.hint == "did you mean 'mlp.dsl'?"


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000, "no/such/folder/f.dsl", "."])
def test_unreadable_paths_are_wrong_usage(path: str):
    with pytest.raises(UsageError, match="cannot read"):
        read_text(path)


def test_unknown_sample_names_the_known_ones():
    with pytest.raises(UsageError, match="unknown sample 'no_such_network'"):
        read_text("samples:no_such_network")
    with pytest.raises(UsageError, match="unknown sample"):
        read_text("samples:../pyproject")


def test_byte_order_mark_is_dropped(tmp_path: Path):
    path = tmp_path / "f.dsl"
    path.write_bytes(b"\xef\xbb\xbfblock")
    assert read_text(str(path)) == "block"


def test_place_of_a_wrong_byte_counts_characters(tmp_path: Path):
    path = tmp_path / "f.dsl"
    path.write_bytes("é\nüü".encode() + b"\xff")
    with pytest.raises(SourceError) as caught:
        read_text(str(path))
    assert (caught.value.location.line, caught.value.location.col) == (2, 3) if caught.value.location else False


def test_unknown_format():
    with pytest.raises(UsageError, match="unknown source format 'dls'") as caught:
        read_source("", format="dls")
    assert caught.value.hint == "did you mean 'dsl'?"


def test_samples_import_files_beside_them():
    with pytest.raises(SourceError) as caught:
        read_source('import "mlp.dsl"\n' + read_text("samples:lenet"), filename="samples:lenet")
    assert str(caught.value.location) == "samples:mlp.dsl:5:1"
    assert caught.value.message == "found network 'mlp' in an imported file, expected blocks only"


def test_samples_are_imported_from_any_folder(tmp_path: Path):
    path = (
        write(tmp_path, sub__net='import "samples:mlp"\nnetwork t() { input x: f32[2]; output x }').parent
        / "sub/net.dsl"
    )
    with pytest.raises(SourceError, match="found network 'mlp' in an imported file, expected blocks only"):
        read(path)
