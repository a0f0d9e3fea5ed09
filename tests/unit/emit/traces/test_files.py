"""The files of traces: what is shared, what they say of themselves, and of which programs there are none."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import UsageError
from npuc.compiler.driver.compile import compile_program
from npuc.compiler.emit.base import Compiled, get_emitter
from npuc.compiler.emit.traces.devices import Traces
from npuc.compiler.report import OpRow
from npuc.frontends.source import open_source
from tests.unit.emit.traces.programs import compiled, emitted, traces_of


def test_equal_devices_share_their_bytes() -> None:
    files = cast("Mapping[str, bytes]", emitted(compiled("two levels")).content)
    assert len({id(data) for data in files.values()}) == 1
    other = emitted(compiled("parts of a ring"))
    nodes = len(traces_of(compiled("parts of a ring"))[0][0].nodes)
    assert other.note.startswith(f"writing 8 traces of {nodes} nodes, ")
    assert isinstance(other.content, Traces)
    assert other.content.size == sum(map(len, other.content.values()))


def test_the_metadata_says_what_made_it() -> None:
    (trace,), _ = traces_of(compiled("one device"))
    assert trace.version == "0.0.4"
    report = compiled("one device").reports[0]
    assert trace.about == {"generator": f"npuc {report.npuc}", "network": "mlp", "hardware": "igo-large"}


@pytest.mark.parametrize(
    ("backend", "options", "message"),
    [
        ("maestro", {}, "the backend 'maestro' has no time for "),
        ("roofline", {}, "the report of the backend 'roofline' has not one row for each operation"),
    ],
)
def test_costs_that_are_no_operations_are_refused(backend: str, options: dict[str, Any], message: str) -> None:
    result = compile_program(open_source("samples:mlp"), [backend], cast(Any, options))
    with pytest.raises(UsageError, match=message):
        emitted(result)


@pytest.mark.parametrize("phase", ["comm", "dw", "update"])
@pytest.mark.parametrize("more", [False, True])
def test_a_report_with_other_rows_than_the_program_has_operations_is_refused(phase: str, *, more: bool) -> None:
    report = compiled("two levels").reports[0]
    (row, *_) = [row for row in report.ops if row.phase == phase]
    with pytest.raises(UsageError, match="has not one row for each operation of the program"):
        with_rows("two levels", [*report.ops, row] if more else [one for one in report.ops if one is not row])


def test_a_whole_layer_without_rows_is_refused() -> None:
    report = compiled("one device").reports[0]
    name = next(row.name for row in report.ops)
    with pytest.raises(UsageError, match="has not one row for each operation of the program"):
        with_rows("one device", [row for row in report.ops if row.name != name])


def with_rows(name: str, rows: list[OpRow]) -> None:
    """Emit a program whose report has these rows."""
    result = compiled(name)
    report = msgspec.structs.replace(result.reports[0], ops=rows)
    get_emitter("chakra").emit(Compiled(result.modules[0], result.machines[0], report))


def written(devices: int, *options: str) -> int:
    return run_command(
        ["compile", "samples:mlp", "-O0", "-q", "--devices", str(devices), "--emit", "chakra", "-o", "traces", *options]
    )


def test_traces_of_more_devices_do_not_stay_beside_those_of_fewer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert written(4) == 0
    Path("traces", "mlp.notes.txt").write_text("of others, and left alone")
    before = {file.name: file.read_bytes() for file in Path("traces").iterdir()}
    assert written(4) == 0, "the same again"
    capsys.readouterr()
    assert written(2, "--json", "report.json") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "'traces' has mlp.2.et and 2 more of another run, which readers would take for a part of" in err
    assert {file.name: file.read_bytes() for file in Path("traces").iterdir()} == before
    assert not Path("report.json").exists()
    for name in ("mlp.comm_group.json", "mlp.2.et", "mlp.3.et"):
        Path("traces", name).unlink()
    assert written(2) == 0
    assert {file.name for file in Path("traces").iterdir()} == {"mlp.0.et", "mlp.1.et", "mlp.notes.txt"}


def test_groups_of_another_run_do_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("traces").mkdir()
    Path("traces", "lenet.comm_group.json").write_text("of another network, and left alone")
    Path("traces", "mlp.comm_group.json").write_text('{"1": [0, 1]}')
    assert written(2) == 2
    assert "'traces' has mlp.comm_group.json of another run" in capsys.readouterr().err
    assert {file.name for file in Path("traces").iterdir()} == {"lenet.comm_group.json", "mlp.comm_group.json"}
    Path("traces", "mlp.comm_group.json").unlink()
    assert written(2) == 0
    assert Path("traces", "lenet.comm_group.json").read_text() == "of another network, and left alone"
