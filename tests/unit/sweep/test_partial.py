"""The file that grows: what it keeps of an earlier run, and what it says of files that are none or damaged."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import Unpack

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.explore.sweep.partial import HEAD, Partial
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.explore.sweep.sweep import Sweep
from npuc.frontends.source import text_source
from tests.unit.sweep.conftest import NET

SWEEP = Sweep(text_source(NET, "dsl", "net.dsl"), {"memory.spm_kib": "0.004,1,64", "batch": [2, 4]}, None, {})
POINTS = list(SWEEP.points())


def ignore(point: SweepPoint) -> None:
    """A point that a file had is not looked at."""


@contextmanager
def stopped(path: str) -> Generator[None]:
    """A file of two points that were scored before somebody stopped."""
    with Partial(path, SWEEP.grid, "abc", ignore) as partial:
        for point in POINTS[:3]:
            partial.add(point)
    yield


def written(folder: str, change: Callable[[bytes], bytes]) -> bytes:
    """The whole file, of a sweep that was stopped after three points, whose file was changed then."""
    path = Path(folder) / "rows.csv"
    with stopped(str(path)):
        partial = Path(f"{path}.partial")
        partial.write_bytes(change(partial.read_bytes()))
    with Partial(str(path), SWEEP.grid, "abc", ignore) as file:
        for point in POINTS[file.rows :]:
            file.add(point)
        file.finish()
    return path.read_bytes()


def test_points_come_back_as_they_were(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.csv")
    found: list[SweepPoint] = []
    with stopped(path), Partial(path, SWEEP.grid, "abc", found.append) as partial:
        expected = [SweepPoint(p.index, p.values, p.totals, p.error) for p in POINTS[:3]]
        assert found == expected
        assert partial.rows == 3
    assert [point.error is None for point in expected] == [False, False, True]


@settings(max_examples=150)
@given(data=st.data())
def test_a_damaged_file_is_one_clear_error_or_the_same_rows(data: st.DataObject) -> None:
    """
    Bytes of the file are replaced, removed or added: either that is said, or every point is there in the end, those
    behind the damage as they were.
    """
    junk = data.draw(st.binary(max_size=20) | st.text(alphabet='0,."\n\r#-en', max_size=8).map(str.encode))

    def change(text: bytes) -> bytes:
        start, length = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 200))
        return text[:start] + junk + text[start + length :]

    with TemporaryDirectory() as folder:
        whole = written(folder, lambda text: text).decode().split("\n")
        error, found = None, whole
        try:
            found = written(folder, change).decode().split("\n")
        except UsageError as raised:
            error = raised
    assert [line.split(",")[:2] for line in found] == [line.split(",")[:2] for line in whole]
    assert found[4:] == whole[4:]
    if error is not None:
        assert "rows.csv.partial'" in error.message
        assert "\n" not in error.message
        assert "--restart begins anew" in (error.hint or "")


@settings(max_examples=100)
@given(cut=st.integers(0, 2000))
def test_a_truncated_file_gives_the_same_rows(cut: int) -> None:
    with TemporaryDirectory() as folder:
        whole = written(folder, lambda text: text)
        assert written(folder, lambda text: text[: max(0, len(text) - cut)]) == whole


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "is no unfinished sweep"),
        ("\n\n\n", "is no unfinished sweep"),
        (f"{HEAD}xyz\nhead\nrow\n", "was begun with another source, other points or other options"),
        (f"{HEAD}abc\nhead\nrow\n", "is damaged: line 2: it is not the header"),
        ("=\nrow\n", "is damaged: line 3: it is no row of 38 cells"),
        ("=\n\n", "is damaged: line 3: it is no row of 38 cells"),
        ("=\n0.004,4" + 36 * "," + "\n", "is damaged: line 3: it is not the point 0.004, 2"),
        ("=\n0.004,2" + 35 * ",x" + ",\n", "is damaged: line 3: its totals are no numbers"),
        ("=\n0.004,2" + 35 * ",nan" + ",\n", "is damaged: line 3: its totals are no numbers"),
        ("=\n" + 7 * "a\n", "is damaged: line 9: the sweep has 6 points"),
    ],
)
def test_what_is_said_of_other_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "rows.csv"
    begun = Path(f"{path}.partial")
    with Partial(str(path), SWEEP.grid, "abc", ignore):
        start = begun.read_text().rstrip("\n")
    begun.write_text(text.replace("=", start, 1))
    before = begun.read_bytes()
    with pytest.raises(UsageError) as caught:
        Partial(str(path), SWEEP.grid, "abc", ignore).__enter__()
    assert message in caught.value.message
    assert begun.read_bytes() == before


def test_a_file_without_rows_is_no_obstacle(tmp_path: Path) -> None:
    """Nothing is lost when it is begun anew with other options."""
    path = tmp_path / "rows.csv"
    Path(f"{path}.partial").write_text(f"{HEAD}xyz\nhead\n")
    with Partial(str(path), SWEEP.grid, "abc", ignore) as partial:
        assert partial.rows == 0
    assert not Path(f"{path}.partial").exists()


def test_two_sweeps_do_not_write_one_file(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.csv")
    with Partial(path, SWEEP.grid, "abc", ignore), pytest.raises(UsageError, match="another process is writing"):
        Partial(path, SWEEP.grid, "abc", ignore).__enter__()


def test_what_depends_on_rows_is_hashed(tmp_path: Path) -> None:
    machine = tmp_path / "machine.toml"
    machine.write_text("clock_mhz = 100\n")

    def digest(text: str = NET, vary: dict[str, str] | None = None, **more: Unpack[CompileKeywords]) -> str:
        options: CompileKeywords = {"hardware": str(machine), "overrides": {"array.rows": 8}, **more}
        return Sweep(text_source(text, "dsl", "net.dsl"), vary or {"batch": "1,2"}, None, options).digest()

    same = digest()
    assert digest() == digest(verify_each=True) == same
    others = [
        digest(vary={"batch": "1,3"}),
        digest(vary={"hidden": "1,2"}),
        digest(NET + "\n"),
        digest(overrides={"array.rows": 9}),
        digest(opt_level=2),
        digest(objective="traffic"),
        digest(only="h"),
    ]
    machine.write_text("clock_mhz = 200\n")
    others.append(digest())
    assert len({same, *others}) == len(others) + 1


def test_imported_files_are_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = 'import "blocks.dsl"\n' + NET.replace("relu(linear(x, hidden))", "layer(x, hidden)")

    def digest(body: str) -> str:
        Path("blocks.dsl").write_text(f"block layer(x, n) {{\n  return {body}\n}}\n")
        return Sweep(text_source(text, "dsl", "net.dsl"), {"batch": "1"}, None, {}).digest()

    assert digest("relu(linear(x, n))") == digest("relu(linear(x, n))") != digest("linear(x, n)")
