"""Backends and passes are found: npuc's own, those of installed distributions, those of loaded files."""

from pathlib import Path

import pytest
from xdsl.universe import XDSL_UNIVERSE

from npuc.backends.registry import get_all_backends, get_backend
from npuc.compiler.core.errors import UsageError
from npuc.compiler.driver.compile import compile_source
from npuc.compiler.driver.passes import available_passes, read_pipeline, write_pipeline
from npuc.compiler.transforms import get_all_passes
from npuc.compiler.universe import UNIVERSE


def test_own_backends_are_known_without_entry_points() -> None:
    assert "cycle" in get_all_backends()


def test_backend_of_another_distribution_is_found(outside: Path) -> None:
    backend = get_backend("tick")
    assert (backend.name, backend.level, backend.default_hardware) == ("tick", "train", "rtx2080ti")
    assert list(get_all_backends()) == sorted(get_all_backends())


def test_a_backend_may_do_without_schedules(outside: Path) -> None:
    table = "layer,M,N,K\nfc,8,8,8\n"
    scheduled = compile_source(table, "csv", backend="npu-tick", hardware="igo-small")
    assert scheduled.pipeline == 'set-precision{to="bf16"},lower-to-npu,schedule'
    free = compile_source(table, "csv", backend="npu-tick", hardware={"name": "unscheduled"})
    assert free.pipeline == "lower-to-npu"
    assert free.totals.seconds == scheduled.totals.seconds == 1e-6


def test_unknown_backend_names_the_nearest(outside: Path) -> None:
    with pytest.raises(UsageError) as caught:
        get_backend("tik")
    assert caught.value.hint == "did you mean 'tick'?"


def test_backend_that_cannot_be_loaded_says_so(outside: Path) -> None:
    with pytest.raises(UsageError, match="cannot be loaded from tick:NoSuchBackend"):
        get_backend("broken")


def test_every_pass_file_holds_the_pass_of_its_name() -> None:
    for name, factory in get_all_passes().items():
        assert factory().name == name


def test_published_universe_takes_no_name_of_xdsl() -> None:
    assert not UNIVERSE.all_passes.keys() & XDSL_UNIVERSE.all_passes.keys()
    assert not UNIVERSE.all_dialects.keys() & XDSL_UNIVERSE.all_dialects.keys()
    assert set(UNIVERSE.all_dialects) == {"chlo", "dist", "mapping", "npu", "stablehlo", "train"}


def test_installed_pass_is_found_and_reads_options(outside: Path) -> None:
    passes = read_pipeline('outside-pass{word="hi there"},dce', available_passes())
    assert write_pipeline(passes) == 'outside-pass{word="hi there"},dce'
    assert write_pipeline(read_pipeline(write_pipeline(passes), available_passes())) == write_pipeline(passes)


def test_an_option_that_is_a_real_number_may_be_written_as_an_integer() -> None:
    (step,) = read_pipeline("schedule{tolerance=0}", available_passes())
    assert write_pipeline([step]) == write_pipeline(read_pipeline("schedule{tolerance=0.0}", available_passes()))
    for written in ("1e-9", "1e-09", "0.000000001"):
        found = read_pipeline(f"schedule{{tolerance={written}}}", available_passes())
        assert write_pipeline(found) == "schedule{tolerance=1e-09}"
        assert write_pipeline(read_pipeline(write_pipeline(found), available_passes())) == "schedule{tolerance=1e-09}"
    with pytest.raises(UsageError, match="tolerance: found '1e', expected a number"):
        read_pipeline("schedule{tolerance=1e}", available_passes())


def test_loaded_file_adds_its_passes(outside: Path) -> None:
    available = available_passes([str(outside / "outside_pass.py")])
    assert available["failing-pass"]().name == "failing-pass"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no PASSES"),
        ("PASSES = {'x': 3}", "'x' is not a pass"),
        ("PASSES = 3", "has no PASSES"),
        ("PASSES = [int]", "is not a pass"),
        ("def f(:\n", "invalid syntax"),
        ("x = 1\nraise RuntimeError('no')\n", "RuntimeError: no"),
        ("import nowhere_at_all", "ModuleNotFoundError"),
        ("from npuc.compiler.transforms.autodiff import AutodiffPass\nPASSES = [AutodiffPass]", "is taken"),
        (
            "from npuc.compiler.transforms.autodiff import AutodiffPass\nPASSES = {'other': AutodiffPass}",
            "calls itself 'autodiff'",
        ),
    ],
)
def test_file_that_cannot_be_loaded_is_one_error(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        available_passes([str(file)])
    assert message in caught.value.render()
    assert "Traceback" not in caught.value.render()


def test_error_in_a_loaded_file_has_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("x = 1\nraise RuntimeError('no')\n")
    with pytest.raises(UsageError) as caught:
        available_passes([str(file)])
    assert caught.value.location is not None
    assert caught.value.location.line == 2
    assert caught.value.source_line == "raise RuntimeError('no')"


@pytest.mark.parametrize("path", ["no-such.py", "net.dsl", ""])
def test_load_needs_a_python_file(path: str) -> None:
    with pytest.raises(UsageError, match="expected a Python file"):
        available_passes([path])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("autodif", "did you mean 'autodiff'?"),
        ("dce{x=1}", "has no option 'x'"),
        ("lower-to-npu{cnv=im2col}", "did you mean 'conv'?"),
        ("lower-to-npu{conv=1,2}", "pass 'lower-to-npu': conv: found '1,2', expected "),
        ("set-target{rows=0x10}", "pass 'set-target': rows: found '0x10', expected an integer"),
        ("schedule{tolerance=x}", "pass 'schedule': tolerance: found 'x', expected a number"),
        ("set-target{multicast=2}", "pass 'set-target': multicast: found '2', expected true or false"),
        ("dce{", "does not parse"),
        ("dce}", "does not parse"),
        ("dce dce", "does not parse"),
        ("\x00", "does not parse"),
    ],
)
def test_wrong_pipeline_is_wrong_usage(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_pipeline(text, available_passes())
    assert message in caught.value.render()


@pytest.mark.parametrize("text", ["schedule", "interleave", "rearrange", "partition"])
def test_a_tolerance_may_be_written_as_an_integer(text: str) -> None:
    more = " rule=best" if text in ("partition", "rearrange") else ""
    whole, real = (read_pipeline(f"{text}{{tolerance={value}{more}}}", available_passes()) for value in ("0", "0.0"))
    assert whole == real
