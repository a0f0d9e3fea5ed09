"""The programs that the gradients of a layer could be, side by side."""

import re
from pathlib import Path

import pytest

from npuc.backends.cycle.explain import Candidate, compare
from npuc.compiler import compile_file
from npuc.compiler.cli import run_command
from npuc.compiler.report import OpRow

ALONE = "with nothing resident between operations"
PAIR = """
network pair(batch=64) {
  input x: f32[batch, 128]
  labels y: i32[batch]
  h = linear(x, 256)
  loss cross_entropy(linear(relu(h), 64), y)
  optimizer sgd(lr=0.1)
}
"""


def explained_text(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run_command(["explain", *arguments, "-q", "--hw", "igo-small"]) == 0
    return capsys.readouterr().out


def test_programs_of_a_layer_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each program's numbers are those of compiling it; the one that was compiled is marked."""
    monkeypatch.chdir(tmp_path)
    Path("pair.dsl").write_text(PAIR)
    text = explained_text(capsys, "pair.dsl", "linear", "-p", "autodiff,lower-to-npu,interleave{mode=fused},schedule")
    report = compile_file("pair.dsl", hardware="igo-small", pipeline="autodiff,lower-to-npu,schedule")
    rows = [row for row in report.ops if row.name == "linear" and row.kind == "matrix" and row.phase != "forward"]
    alone = next(line for line in text.splitlines() if "one after another" in line)
    moved = sum((row.dram_read_bytes or 0) + (row.dram_write_bytes or 0) for row in rows)
    assert alone.split()[3:][:1] == [f"{sum(int(row.cycles or 0) for row in rows):,}"]
    assert f" {moved:,} " in alone
    assert "> one nest, " in text
    assert "taken     one nest, " in text


@pytest.mark.parametrize("arguments", [("h",), ("linear", "--phase", "forward"), ("relu",)])
def test_no_programs_without_both_gradients(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first layer has no dX, a forward product is alone, vector work has none."""
    monkeypatch.chdir(tmp_path)
    Path("pair.dsl").write_text(PAIR.replace("relu(h)", "g").replace("  loss", "  g = relu(h)\n  loss"))
    names = {"relu": "g"}
    text = explained_text(capsys, "pair.dsl", names.get(arguments[0], arguments[0]), *arguments[1:])
    assert "programs of dX and dW" not in text


def row_of(name: str, cycles: int, compute: int, moved: int) -> Candidate:
    row = OpRow(
        index=0,
        name="fc",
        op="npu.contract",
        phase="dxdw",
        cycles=cycles,
        compute_cycles=compute,
        dram_read_bytes=moved,
    )
    return Candidate(name, (row,))


def test_why_a_program_was_taken() -> None:
    slow, quick, lean = row_of("a", 100, 90, 50), row_of("b", 80, 80, 50), row_of("c", 90, 88, 20)
    (_, better), *_ = compare("fc", quick, [slow, quick, lean], "time").facts
    assert better == "b: least cycles, 11.1% fewer than c; c moves 60.0% fewer bytes, but its array works longer"
    (_, worse), *_ = compare("fc", slow, [slow, quick, lean], "time").facts
    assert worse == "a: 1.250x the cycles of b, which -O3 would take"
    (_, least), *_ = compare("fc", lean, [slow, quick, lean], "traffic").facts
    assert least == "c: least bytes, 60.0% fewer than a"
    pinned = row_of("as compiled", 70, 60, 10)
    table = compare("fc", pinned, [slow, quick], "time").tensors
    assert [line[0] for line in table] == ["program", "  a", "  b", "> as compiled"]


def certified(text: str) -> list[str]:
    """The sentences about certificates, each as one line."""
    found = re.findall(r"^certified (.*(?:\n {10}.*)*)", text, re.MULTILINE)
    return [re.sub(r"\s+", " ", sentence) for sentence in found]


def test_how_far_programs_and_rows_are_from_what_has_to_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pair is measured by any program of dX and dW, each of them alone by its schedules."""
    monkeypatch.chdir(tmp_path)
    Path("pair.dsl").write_text(PAIR)
    passes = "autodiff,lower-to-npu,schedule{objective=traffic}"
    pair, dx, dw = (
        certified(explained_text(capsys, "pair.dsl", "linear", "-p", passes))[:1]
        + certified(explained_text(capsys, "pair.dsl", "linear", "-p", passes))[2:]
    )
    x, w, y = 2 * 64 * 256, 2 * 256 * 64, 2 * 64 * 64
    once = f"{2 * (x + w) + y:,} bytes, what is compulsory (capacity bound with 524,288 of scratchpad: "
    assert pair.startswith(f"{ALONE} no program of dX and dW moves less than {once}")
    assert pair.endswith(
        f"This one moves {2 * (x + w + y):,}, {y / (2 * (x + w) + y):.1%} more: at most {y:,} could be saved"
    )
    for row in (dx, dw):
        assert row.startswith(f"{ALONE} no schedule moves less than {x + w + y:,} bytes, what is compulsory")
        assert row.endswith("This one moves no more: optimal")
    round_robin = certified(
        explained_text(capsys, "pair.dsl", "linear", "-p", passes.replace("schedule", "interleave,schedule"))
    )
    assert round_robin[0].endswith("optimal")


def test_how_much_scratchpad_moving_everything_once_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a little more than the one the search reaches compulsory traffic, with the other no schedule does."""
    monkeypatch.chdir(tmp_path)
    Path("pair.dsl").write_text(PAIR.replace("64), y", "64, bias=false), y"))
    options = ("linear", "-p", "autodiff,lower-to-npu,schedule{objective=traffic}", "--phase", "forward", "--set")
    (text,) = certified(explained_text(capsys, "pair.dsl", *options, "memory.spm_kib=2"))
    found = re.search(r"the capacity bound with 1,024 of scratchpad \(compulsory: (.*?)\)", text)
    assert found is not None
    assert found[1] == f"{2 * (64 * 256 + 256 * 64 + 64 * 64):,}"
    room = re.search(
        r"once takes more than (.*) bytes of scratchpad; (.*) are enough \(Y whole, k in steps of 1\)", text
    )
    assert room is not None
    too_small, enough = (int(number.replace(",", "")) for number in room.groups())
    assert 1024 < too_small < enough == 4 * 64 * 64 + 2 * (64 + 64)
    # Half of the scratchpad may be used.
    (text,) = certified(explained_text(capsys, "pair.dsl", *options, f"memory.spm_kib={too_small / 512}"))
    assert f"the capacity bound with {too_small:,} of scratchpad" in text
    (text,) = certified(explained_text(capsys, "pair.dsl", *options, f"memory.spm_kib={enough / 512}"))
    assert text.endswith("optimal")
