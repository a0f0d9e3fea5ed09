"""Every argument of every public function: a wrong type is a TypeError that names it, a wrong value an NpucError."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from decimal import Decimal
from enum import IntEnum, StrEnum
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from npuc import compiler
from npuc.backends.maestro import evaluate
from npuc.compiler import InternalError, NpucError
from npuc.compiler.core.options import CompileKeywords, ProgramKeywords
from npuc.compiler.driver.import_text import ImportKeywords
from npuc.compiler.driver.running.options import RunKeywords
from npuc.hardware import load_hardware

NET = """network n(batch=2) {
  input x: f32[batch, 3]
  labels y: i32[batch]
  loss cross_entropy(linear(x, 4), y)
  optimizer sgd(lr=0.1)
}
"""
CYCLE: dict[str, Any] = {}
CYCLE["array"] = CYCLE
INPUTS = {"x": np.zeros((2, 3)), "y": np.zeros(2, int)}
REPORT = compiler.compile_source(NET)
LAYERS = [{"name": "a", "kind": "fc", "input": 8, "weight": 8, "output": 8}]
POOL: list[object] = [
    *(None, True, 0, -1, 10**400, 1.5, float("nan"), 1j, Decimal(1), object(), int, len),
    *("", "x", "\0", "\ud800", "cycle", "2x2", b"x", [], [1], ["x"], (), {"a"}, {}, {"x": 1}, {1: 2}),
    *(
        {"array": {"rows": []}},
        {"array.rows": "8"},
        CYCLE,
        {"batch": CYCLE},
        {"batch": np.zeros(2)},
        {"x": [[1], [2, 3]]},
    ),
    *(
        {"batch": [None]},
        {"O": [1.0]},
        {"devices": [True]},
        {"objective": [np.zeros(2)]},
        {"mapping": [3]},
        {"x": [[1], [2, 3]]},
    ),
    *(
        [{"name": [], "kind": [], "input": "1"}],
        [{"tflops": "x", "gb_per_s": 1}],
        np.array("x"),
        np.zeros(0),
        np.float32(1),
    ),
]
GRAPH = Path(__file__).parents[1] / "oracle" / "data" / "torch" / "writes.pt2"
GIVEN: Mapping[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "compile_source": ({"text": NET}, ("text", "format", "filename", "backend", *CompileKeywords.__annotations__)),
    "compile_file": ({"path": "samples:mlp"}, ("path",)),
    "run_source": ({"text": NET, "inputs": INPUTS}, ("text", "format", "filename", *RunKeywords.__annotations__)),
    "run_file": ({"path": "samples:mlp"}, ("path",)),
    "check_source": ({"text": NET}, ("text", "format", "seed", "limit", *ProgramKeywords.__annotations__)),
    "check_file": ({"path": "samples:mlp", "defines": {"batch": 2, "hidden": 4}}, ("path",)),
    "describe_source": ({"text": NET}, ("text", *RunKeywords.__annotations__)),
    "describe_file": ({"path": "samples:mlp"}, ("path",)),
    "import_file": ({"path": GRAPH}, ("path", *ImportKeywords.__annotations__)),
    "sweep_source": (
        {"text": NET, "vary": {"batch": [2, 4]}},
        ("text", "format", "vary", "jobs", "dask", "backend", *CompileKeywords.__annotations__),
    ),
    "sweep_file": ({"path": "samples:mlp", "vary": {"batch": [2, 4]}}, ("path", "vary")),
    "optimize_source": (
        {"text": NET, "vary": {"batch": [2, 4]}},
        (
            *(
                "text",
                "format",
                "vary",
                "goals",
                "constraints",
                "budget",
                "seed",
                "jobs",
                "resume",
                "progress",
                "backend",
            ),
            *CompileKeywords.__annotations__,
        ),
    ),
    "optimize_file": ({"path": "samples:mlp", "vary": {"batch": [2, 4]}}, ("path", "vary")),
    "flexibility_source": (
        {"text": NET, "budget": 1},
        ("text", "format", "budget", "seed", "samples", "progress", *CompileKeywords.__annotations__),
    ),
    "flexibility_file": ({"path": "samples:mlp", "budget": 1}, ("path",)),
    "training_file": (
        {"path": "samples:mlp", "phases": ["large-batch"]},
        ("path", "phases", "backend", "until", "dataset", "seeds", "seed", "progress"),
    ),
    "diff_reports": ({"a": REPORT, "b": REPORT}, ("a", "b")),
    "keep_results": ({}, ("folder",)),
    "plan_parallel": ({"layers": LAYERS, "devices": 4}, ("layers", "devices", "strategy", "convention", "groups")),
}
CASES = [(function, name) for function, (_, names) in GIVEN.items() for name in names]


def test_every_public_function_is_here() -> None:
    functions = {name for name in compiler.__all__ if name.islower()}
    assert functions == set(GIVEN)


@pytest.mark.parametrize(("function", "name"), CASES)
def test_any_value(function: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some write
    call: Callable[..., Any] = getattr(compiler, function)
    for value in POOL:
        if name in ("max_ops", "steps", "jobs", "budget", "samples", "seeds") and isinstance(value, int) and value > 1:
            continue  # right, and without an end
        try:
            result = call(**{**GIVEN[function][0], name: value})
            if function.startswith("sweep"):
                list(islice(cast("Iterable[object]", result), 1))
            elif function == "keep_results":
                with cast("AbstractContextManager[None]", result):
                    pass
        except InternalError:
            raise
        except NpucError as error:
            error.render()
        except TypeError as error:
            if not str(error).startswith(f"{name}: expected "):
                raise


@pytest.mark.parametrize(
    ("function", "name", "value", "message"),
    [
        ("compile_source", "devices", 2.5, "devices: expected an integer, got the float 2.5"),
        ("compile_source", "text", 3, "text: expected a string or bytes, got the int 3"),
        ("compile_source", "load", "x.py", "load: expected a sequence of strings, got the str 'x.py'"),
        (
            "compile_source",
            "overrides",
            {1: 2},
            "overrides: expected a mapping with strings as keys or None",
        ),
        ("compile_source", "zero", "1", "zero: expected True or False or an integer, got the str '1'"),
        ("run_source", "seed", "1", "seed: expected an integer, got the str '1'"),
        ("sweep_source", "jobs", "2", "jobs: expected an integer, got the str '2'"),
        ("flexibility_file", "constraints", 3, "constraints: expected a string or None, got the int 3"),
        ("flexibility_source", "samples", 2.5, "samples: expected an integer or None, got the float 2.5"),
        ("compile_file", "path", b"net.dsl", "path: expected a string or a path, got the bytes b'net.dsl'"),
        ("plan_parallel", "layers", [3], "layers: expected a sequence of mappings with strings as keys, got a value"),
    ],
)
def test_a_wrong_type_is_named(function: str, name: str, value: object, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        getattr(compiler, function)(**{**GIVEN[function][0], name: value})
    assert str(caught.value).startswith(message)


MAPPINGS = {
    "dim": np.zeros((1, 1, 1), int),
    "size": np.ones((1, 1, 1), int),
    "offset": np.ones((1, 1, 1), int),
    "spatial": np.zeros((1, 1, 1), bool),
    "cluster": np.ones((1, 0), int),
}
BORDERS: Mapping[Callable[..., Any], dict[str, Any]] = {
    load_hardware: {"hardware": "igo-small", "overrides": {"array.rows": 8}, "precision": "f32"},
    evaluate: {
        "problem": {"type": "CONV", "dims": {"K": 4, "C": 4, "R": 1, "S": 1, "Y": 8, "X": 8}},
        "mappings": MAPPINGS,
        "hardware": {"maestro.num_pes": 4},
    },
}


@pytest.mark.parametrize(("call", "name"), [(call, name) for call, given in BORDERS.items() for name in given])
def test_any_value_at_other_borders(call: Callable[..., Any], name: str) -> None:
    call(**BORDERS[call])
    for value in (
        *POOL,
        *({**BORDERS[call][name], key: 3} for key in MAPPINGS if isinstance(BORDERS[call][name], dict)),
    ):
        try:
            call(**{**BORDERS[call], name: value})
        except NpucError as error:
            error.render()
        except TypeError as error:
            if not str(error).startswith(f"{name}: expected "):
                raise


class Word(StrEnum):
    BATCH = "batch"
    FILE = "net.dsl"
    NAME = "other"


class Number(IntEnum):
    TWO = 2


def test_members_of_enumerations_are_what_they_stand_for() -> None:
    report = compiler.compile_source(
        NET, "dsl", Word.FILE, defines={Word.BATCH: Number.TWO}, overrides={"name": Word.NAME}
    )
    plain = compiler.compile_source(NET, "dsl", "net.dsl", defines={"batch": 2}, overrides={"name": "other"})
    assert report.to_json() == plain.to_json()
    assert report.to_csv() == plain.to_csv()
