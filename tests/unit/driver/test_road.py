"""The road of a source through the driver: the machine, the module, lowered, scored; each once, and never back up."""

import sys
from itertools import groupby
from pathlib import Path
from types import FrameType

import npuc.compiler.driver
from npuc.compiler import compile_file

FOLDER = Path(npuc.compiler.driver.__file__).parent
STAGES = ("compile", "options", "machine", "read", "lower_program", "lower", "passes", "score")


def stages_called() -> list[tuple[str, str]]:
    """The stage that calls and the one that is called, of each call into another stage, in order."""
    files = {str(FOLDER / f"{stage}.py"): stage for stage in STAGES}
    found: list[tuple[str, str]] = []

    def look(frame: FrameType, event: str, _: object) -> None:
        called = files.get(frame.f_code.co_filename) if event == "call" else None
        if called is None:
            return
        around = frame.f_back
        while around is not None and around.f_code.co_filename not in files:
            around = around.f_back
        caller = called if around is None else files[around.f_code.co_filename]
        if caller != called:
            found.append((caller, called))

    sys.setprofile(look)
    try:
        compile_file("samples:mlp", backend="cycle")
    finally:
        sys.setprofile(None)
    return found


def test_a_source_passes_each_stage_once_and_downwards() -> None:
    compile_file("samples:mlp", backend="cycle")  # what is imported and cached on first use is no stage
    calls = stages_called()
    from_the_top = [stage for stage, _ in groupby(called for caller, called in calls if caller == "compile")]
    assert from_the_top == ["options", "machine", "read", "lower_program", "score"]
    entered = [called for caller, called in calls if called in ("lower_program", "lower", "score") and caller != called]
    assert entered.count("lower_program") == entered.count("score") == 1
    assert [(caller, called) for caller, called in calls if called == "compile"] == []
    assert [called for caller, called in calls if caller in ("lower", "passes") and called in STAGES[:4]] == []
    assert {called for caller, called in calls if caller == "score" and called != "passes"} == {"lower"}
