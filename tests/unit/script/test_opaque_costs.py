"""Files of formulas: what they say of calls, and what is refused, with its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.core.errors import NpucError, UsageError
from npuc.compiler.core.files.texts import SIZE_LIMIT
from npuc.frontends.script.opaque.counts import Counts, OpaqueMismatch, counts_of, shape_by, sizes_of
from npuc.frontends.script.opaque.entries import Entry
from npuc.frontends.script.opaque.file import entries_of, known_entries

Read = Callable[..., Entry]
FUSE = """\
[ops."acme.fuse"]
inputs = ["b h m d", "b h n d", "_ ... "]
outputs = ["b h m d"]
macs = "2*b*h*m*n*d"
vector = "5*b*h*m*n*scale + out0 - in1/2"
backward = 2.5
batch = "b"
"""


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def one(text: str | bytes, name: str = "acme.fuse") -> Entry:
        path = tmp_path / "costs.toml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return entries_of(str(path))[name]

    return one


def test_an_entry_counts_a_call(read: Read) -> None:
    entry = read(FUSE.replace(', "_ ... "', ""))
    shapes = [(2, 3, 4, 8), (2, 3, 6, 8)]
    work = 2 * 2 * 3 * 4 * 6 * 8
    vector = 5 * 2 * 3 * 4 * 6 * 2 + 2 * 3 * 4 * 8 - 2 * 3 * 6 * 8 // 2
    found = counts_of(entry, shapes, [(2, 3, 4, 8)], {"scale": 2})
    assert found == Counts(work, vector, work * 5 // 2, -(-vector * 5 // 2), (0, 0, 0))
    assert shape_by(entry, 0, sizes_of(entry, shapes, [None])) == (2, 3, 4, 8)
    assert shape_by(entry, 1, sizes_of(entry, shapes, [None])) is None


def test_leading_axes_are_those_before_the_named_ones(read: Read) -> None:
    entry = read("[ops.\"acme.fuse\"]\ninputs = ['... k', 'k n']\noutputs = ['... n']\nmacs = 'in0*n'\n")
    sizes = sizes_of(entry, [(5, 6, 7), (7, 2)], [None])
    assert shape_by(entry, 0, sizes) == (5, 6, 2)
    assert counts_of(entry, [(5, 6, 7), (7, 2)], [(5, 6, 2)], {}).macs == 5 * 6 * 7 * 2


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(2, 3, 4), (2, 3, 6, 8)], r"input 0 has the shape \[2, 3, 4\], its costs say 'b h m d'"),
        ([(2, 3, 4, 8), (2, 3, 6, 9)], "'d' is 9 here and 8 before"),
    ],
)
def test_a_call_of_other_axes_is_refused(read: Read, shapes: list[tuple[int, ...]], message: str) -> None:
    entry = read(FUSE.replace(', "_ ... "', ""))
    with pytest.raises(OpaqueMismatch, match=message):
        counts_of(entry, shapes, [(2, 3, 4, 8)], {"scale": 1})


HEAD = '[ops."acme.fuse"]\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "macs = 1\nmacc = 2\n", r"costs.toml:3:1: error: ops.\"acme.fuse\": unknown key 'macc'"),
        (HEAD + "macs = 'b * * c'\n", r"costs.toml:2:13: error: macs: found \*, expected a number"),
        (HEAD + "macs = true\n", "macs: found true, expected a formula or a number"),
        (HEAD + "macs = ['b']\n", "expected a formula or a number"),
        (HEAD + "macs = nan\n", "macs: "),
        (HEAD + "inputs = ['b']\n", "found neither macs nor vector"),
        (HEAD + "macs = 1\nbackward = 2\nbackward_macs = 3\n", "found backward beside"),
        (HEAD + "macs = 1\ninputs = 'b'\n", "inputs: found .*, expected a list of texts"),
        (HEAD + "macs = 1\ninputs = ['b ... c']\n", r"inputs: found '...' in 'b ... c'"),
        (HEAD + "macs = 1\ninputs = ['b-c']\n", "inputs: found 'b-c'"),
        (HEAD + "macs = 1\ninputs = ['b']\nbatch = 'c'\n", "batch: found .*c.*, expected an axis"),
        (HEAD + "macs = 1\ninputs = ['b']\noutputs = ['c']\nbatch = 'b'\n", "expected an axis of each of outputs"),
        (HEAD + "macs = 1\ninputs = ['b']\noutputs = ['b']\nbatch = 3\n", "batch: found 3"),
        ("ops = 3\n", "ops: expected tables"),
        ("op = 3\n", "unknown key 'op'"),
        ("[ops]\nx = 3\n", "expected a table, found 3"),
        ("[ops.'']\nmacs = 3\n", "expected the name of one"),
        ("[ops\n", "costs.toml:1:5: error"),
        ("x = " + "[" * 5000, "nested too deeply|error"),
        ("x = " + "9" * 6000, "too many digits"),
        (b"\xff\xfe", "UTF-8"),
        ("#" * (SIZE_LIMIT + 1), "at most 1 MiB"),
    ],
)
def test_a_wrong_file_is_refused(read: Read, text: str | bytes, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(text)
    assert re.search(message, str(caught.value)), caught.value


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot read"):
        entries_of("/nowhere/costs.toml")


@pytest.mark.parametrize(
    ("formula", "message"),
    [("b*q", "unknown name 'q'"), ("0-b", "its value is -2, expected"), ("pow(b, 32)*pow(b, 32)", "expected a number")],
)
def test_a_formula_without_a_count_has_its_place(read: Read, formula: str, message: str) -> None:
    entry = read(f"{HEAD}inputs = ['b']\nmacs = '{formula}'\n")
    with pytest.raises(UsageError, match=message) as caught:
        counts_of(entry, [(2,)], [(2,)], {})
    assert caught.value.location is not None
    assert caught.value.location.line == 3


@given(text=st.text("[]ops.=\"'macsinputs b*+1\n{}#", max_size=120))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "costs.toml"
    path.write_text(text)
    with suppress(NpucError):
        entries_of(str(path))


def test_a_file_wins_over_what_ships(read: Read, tmp_path: Path) -> None:
    name = next(iter(known_entries()), "acme.fuse")
    assert read(f'[ops."{name}"]\nmacs = 7\n', name).given
    assert not any(entry.given for entry in known_entries().values())
