"""The store of results: rows by key, within a bound, by several processes, whatever happens to its file."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from npuc.compiler.core.cache import store as module
from npuc.compiler.core.cache.database import WAIT_SECONDS
from npuc.compiler.core.cache.frames import framed, unframed
from npuc.compiler.core.cache.store import DAY, FILE, Store

MIB = 1 << 20
CODE, OTHER_CODE = b"one", b"other"


def opened(folder: Path, bound: int = MIB, code: bytes = CODE) -> Store:
    return Store(str(folder), bound, code)


def filled(folder: Path, count: int = 40, size: int = 300) -> dict[bytes, bytes]:
    """Rows that are in the store of a folder."""
    rows = {bytes([number]): bytes([number]) * size for number in range(count)}
    store = opened(folder)
    for key, data in rows.items():
        store.put("some", key, data)
    store.close()
    assert store.problem is None
    return rows


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_frames(parts: list[bytes]) -> None:
    assert unframed(framed(parts)) == parts


@given(st.binary(max_size=64))
def test_what_is_no_frame_is_refused_or_is_one(data: bytes) -> None:
    try:
        assert framed(unframed(data)) == data
    except ValueError:
        pass


class Model(RuleBasedStateMachine):
    """A store beside a dictionary; whatever is closed and opened again, written or not."""

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.store, self.rows = opened(Path(self.folder.name)), dict[tuple[str, bytes], bytes]()

    keys, kinds = st.binary(max_size=3), st.sampled_from(["a", "b"])

    @rule(key=keys, data=st.binary(max_size=50))
    def put(self, key: bytes, data: bytes) -> None:
        self.store.put("a", key, data)
        self.rows["a", key] = data

    @rule(key=keys)
    def get(self, key: bytes) -> None:
        assert self.store.get("a", key) == self.rows.get(("a", key))

    @rule()
    def flush(self) -> None:
        self.store.flush()

    @rule()
    def again(self) -> None:
        self.store.close()
        self.store = opened(Path(self.folder.name))

    @precondition(lambda self: self.rows)
    @rule()
    def clear(self) -> None:
        assert self.store.clear()
        self.rows.clear()
        assert sum(one.rows for one in self.store.tally().values()) == 0

    def teardown(self) -> None:
        self.store.close()
        assert self.store.problem is None
        self.folder.cleanup()


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=20, stateful_step_count=20)


def test_a_row_of_another_kind_is_another_row(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.put("a", b"key", b"data")
    store.flush()
    assert store.get("b", b"key") is None


def test_rows_of_other_code_are_not_found_and_stay_for_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = filled(tmp_path)
    other = opened(tmp_path, code=OTHER_CODE)
    assert all(other.get("some", key) is None for key in rows)
    other.put("some", b"new", b"data")
    other.close()
    assert opened(tmp_path).tally()["some"].rows == len(rows) + 1
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + DAY + 2)
    later = opened(tmp_path, code=OTHER_CODE)
    later.put("some", b"newer", b"data")
    later.close()
    assert opened(tmp_path).tally()["some"].rows == 2


def test_the_file_stays_within_its_bound_and_keeps_what_was_used_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(1_000_000, 2_000_000))
    monkeypatch.setattr("time.time", lambda: next(clock))
    bound, data = 256 << 10, os.urandom(4096)
    for number in range(200):
        store = opened(tmp_path, bound)
        store.put("some", number.to_bytes(2, "big"), data)
        store.get("some", (0).to_bytes(2, "big"))  # used again and again
        store.close()
        assert (tmp_path / FILE).stat().st_size <= bound + 3 * len(data)
    store = opened(tmp_path, bound)
    there = [number for number in range(200) if store.get("some", number.to_bytes(2, "big")) is not None]
    assert there[0] == 0
    assert there[1:] == list(range(200 - len(there) + 1, 200))
    assert len(there) > 30


def test_a_row_that_would_take_much_of_the_bound_is_not_kept(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.put("some", b"key", bytes(MIB // 4))
    assert store.get("some", b"key") is None


def test_hits_and_misses_are_counted(tmp_path: Path) -> None:
    rows = filled(tmp_path)
    store = opened(tmp_path)
    for key in (*rows, b"none", b"nothing"):
        store.get("some", key)
    store.get("some", b"whatever", counted=False)
    store.close()
    tally = opened(tmp_path).tally()["some"]
    assert (tally.rows, tally.hits, tally.misses) == (len(rows), len(rows), 2)


def test_only_the_user_may_read_it(tmp_path: Path) -> None:
    filled(tmp_path / "deep" / "folder")
    assert (tmp_path / "deep" / "folder").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "deep" / "folder" / FILE).stat().st_mode & 0o777 == 0o600


def test_a_file_that_others_may_write_is_not_read(tmp_path: Path) -> None:
    rows = filled(tmp_path)
    (tmp_path / FILE).chmod(0o666)
    store = opened(tmp_path)
    assert all(store.get("some", key) is None for key in rows)
    assert store.problem == "other users may write it"


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(0, 1 << 15), st.integers(0, 255)), max_size=40),
    st.one_of(st.none(), st.integers(0, 1 << 15)),
)
def test_damage_makes_no_other_result(tmp_path: Path, changes: list[tuple[int, int]], length: int | None) -> None:
    """Bytes of the file are changed, and it is cut off: a row is what it was, or is not there, and others can be."""
    file = tmp_path / FILE
    file.unlink(missing_ok=True)
    rows = filled(tmp_path)
    data = bytearray(file.read_bytes()[:length])
    for place, value in changes:
        if data:
            data[place % len(data)] = value
    file.write_bytes(data)
    store = opened(tmp_path)
    for key, kept in rows.items():
        assert store.get("some", key) in (None, kept)
    store.tally()
    store.put("some", b"new", b"data")
    store.close()
    after = opened(tmp_path)
    assert after.get("some", b"new") in (None, b"data")
    after.clear()
    after.close()


@pytest.mark.parametrize("content", [b"", b"no database at all, but a text of some length" * 40, bytes(4096)])
def test_a_file_that_is_no_database_is_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    rows = filled(tmp_path)
    store = opened(tmp_path)
    assert {key: store.get("some", key) for key in rows} == rows


def test_tables_of_another_form_are_replaced(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("CREATE TABLE rows (something TEXT)")
        connection.execute("PRAGMA user_version = 99")
    rows = filled(tmp_path)
    assert opened(tmp_path).get("some", b"\1") == rows[b"\1"]


def unusable(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    (tmp_path / "a" / FILE).mkdir(parents=True)
    yield "it is no file", tmp_path / "a"
    (tmp_path / "b").write_text("")
    yield "File exists", tmp_path / "b"
    yield "Not a directory", tmp_path / "b" / "c"
    if sys.platform == "linux":
        yield "No such file", Path("/proc/npuc")  # nobody may make a folder there, not even root


def test_where_no_store_can_be(tmp_path: Path) -> None:
    for problem, folder in unusable(tmp_path):
        store = opened(folder)
        store.put("some", b"key", b"data")
        store.flush()
        assert problem in (store.problem or "")
        assert store.get("some", b"key") is None
        store.close()


def limited(monkeypatch: pytest.MonkeyPatch, pragma: str) -> None:
    """From now on connections are limited."""
    connect = module.connect  # pyright: ignore[reportPrivateImportUsage]

    def with_limit(path: str) -> sqlite3.Connection:
        connection = connect(path)
        connection.execute(pragma).fetchall()
        return connection

    monkeypatch.setattr(module, "connect", with_limit)


@pytest.mark.parametrize(
    ("pragma", "problem"), [("PRAGMA max_page_count = 12", "full"), ("PRAGMA query_only = ON", "readonly")]
)
def test_a_full_disk_and_a_file_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pragma: str, problem: str
) -> None:
    rows = filled(tmp_path, count=8)
    limited(monkeypatch, pragma)
    store = opened(tmp_path)
    assert store.get("some", b"\1") == rows[b"\1"]
    store.put("some", b"new", bytes(60_000))
    store.flush()
    assert problem in (store.problem or "")
    store.close()
    monkeypatch.undo()
    again = opened(tmp_path)
    assert {key: again.get("some", key) for key in rows} == rows
    assert again.get("some", b"new") is None


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
from npuc.compiler.core.cache.store import Store
store = Store(sys.argv[1], 1 << 20, b"one")
store.put("some", b"new", bytes(50_000))
store.close()
print(store.problem)
"""


def test_no_file_may_grow(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() != "None"
    assert opened(tmp_path).get("some", b"new") is None
    filled(tmp_path)


def test_a_store_that_another_process_writes_is_not_waited_for(tmp_path: Path) -> None:
    filled(tmp_path)
    with sqlite3.connect(tmp_path / FILE, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        store, begin = opened(tmp_path), time.monotonic()
        assert store.get("some", b"\1") is None
        store.put("some", b"new", b"data")
        store.close()
        assert time.monotonic() - begin < 20 * WAIT_SECONDS  # it waits once, whatever else the machine does
        assert "locked" in (store.problem or "")
        other.execute("ROLLBACK")
    assert opened(tmp_path).get("some", b"\1") is not None


WRITER = """
import sys
from npuc.compiler.core.cache.store import Store
folder, begin, end, step = sys.argv[1], *map(int, sys.argv[2:])
store = Store(folder, 1 << 24, b"one")
for number in range(begin, end):
    key = number.to_bytes(4, "big")
    found = store.get("some", key)
    assert found in (None, key * 200)
    store.put("some", key, key * 200)
    if number % step == 0:
        store.flush()
        print(number, flush=True)
store.close()
print(store.problem)
"""


def writer(folder: Path, begin: int, end: int, step: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder), str(begin), str(end), str(step)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    both = [writer(tmp_path, 0, 300, 7), writer(tmp_path, 150, 450, 5)]
    for process in both:
        out, err = process.communicate()
        assert (process.returncode, err) == (0, "")
        assert out.splitlines()[-1] == "None" or "locked" in out
    store = opened(tmp_path)
    found = {number: store.get("some", number.to_bytes(4, "big")) for number in range(450)}
    assert all(data in (None, number.to_bytes(4, "big") * 200) for number, data in found.items())
    assert sum(data is not None for data in found.values()) >= 300


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="a signal of POSIX")
def test_a_writer_is_killed(tmp_path: Path) -> None:
    for round in range(3):
        process = writer(tmp_path, 0, 1 << 20, 1)
        assert process.stdout is not None
        for _ in range(5 + 20 * round):
            process.stdout.readline()
        process.kill()
        process.communicate()
        store = opened(tmp_path)
        there = [store.get("some", number.to_bytes(4, "big")) for number in range(5 + 20 * round)]
        assert there == [number.to_bytes(4, "big") * 200 for number in range(5 + 20 * round)]
        assert store.problem is None
        store.put("some", b"after", b"data")
        store.close()
        assert opened(tmp_path).get("some", b"after") == b"data"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="of POSIX")
def test_a_copy_of_the_process_has_a_connection_of_its_own(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.put("some", b"before", b"data")
    child = os.fork()
    if child == 0:
        try:
            store.put("some", b"child", b"data")
            store.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    store.put("some", b"after", b"data")
    store.close()
    again = opened(tmp_path)
    assert [again.get("some", key) for key in (b"before", b"child", b"after")] == [b"data"] * 3
