"""The blocks that ship with npuc: how programs call them, how their layers are named, whose block is meant."""

import re
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp

from npuc.compiler import compile_source
from npuc.compiler.layers import get_functions
from npuc.dialects.provenance import layer_of, location_text
from npuc.dialects.train.base import TrainOp
from npuc.frontends import read_source
from npuc.frontends.dsl import blocks
from npuc.frontends.dsl.arithmetic import NUMBER_FUNCTIONS
from npuc.frontends.dsl.blocks import described, library_block, library_names, library_routines
from npuc.frontends.dsl.calls import BUILT_IN
from npuc.frontends.dsl.checks import check
from npuc.frontends.dsl.program import LoadedProgram, Routine
from npuc.frontends.dsl.reference import FAMILIES
from npuc.frontends.source_text import Diagnostics
from tests.unit.dsl.block_calls import build, message


def parameters(module: ModuleOp, mark: str = "param") -> list[str]:
    """The names of the weights; with the mark `frozen` of those that are not trained."""
    (func,) = module.body.block.ops
    assert isinstance(func, FuncOp)
    assert func.arg_attrs is not None
    entries = [entry.data for entry in func.arg_attrs if f"train.{mark}" in entry.data]
    assert all(isinstance(entry[f"train.{mark}"], StringAttr | UnitAttr) for entry in entries)
    return [name.data for entry in entries if isinstance(name := entry["train.param"], StringAttr)]


def layers(module: ModuleOp) -> list[str]:
    """The names of the layers, in order."""
    return list(dict.fromkeys(layer_of(op) for op in module.walk() if isinstance(op, TrainOp)))


# ---- the library itself


def test_its_blocks_pass_the_checks_of_programs():
    diagnostics = Diagnostics()
    (definition,) = (r for r in [library_block("channel_shuffle")] if r is not None)
    names = {*get_functions(), *BUILT_IN}
    check(LoadedProgram(definition, library_routines()), names, diagnostics)
    diagnostics.raise_if_any()


def test_its_names_are_no_layers():
    assert not set(library_routines()) & {*get_functions(), *BUILT_IN, *NUMBER_FUNCTIONS}
    assert set(library_names()) == {name for name in library_routines() if not name.startswith("_")}


def test_each_block_is_described_and_has_a_family():
    files = {part for parts in FAMILIES.values() for part in parts}
    for family, entries in described().items():
        assert family in files
        for block in entries:
            assert block.comment.endswith(".")
            assert block.signature.startswith(f"{block.name}(")
            assert len(block.comment) > 40


def test_files_are_read_when_a_block_is_called(monkeypatch: pytest.MonkeyPatch):
    read: list[str] = []

    def routines(family: str) -> dict[str, Routine]:
        read.append(family)
        return {}

    monkeypatch.setattr(blocks, "_routines", routines)
    build("h = relu(x)")
    assert read == []
    with pytest.raises(KeyError):
        build("h = lstm(x, 3)")
    assert read == ["recurrent"]


def test_no_line_is_too_long():
    for file in (Path(blocks.__file__).parent / "library").iterdir():
        lines = file.read_text(encoding="utf-8").splitlines()
        assert [line for line in lines if len(line) > 120] == []
        assert len(lines) <= 300


# ---- names


def test_names_of_attention():
    module = build("h = multi_head_attention(x, 2, causal=true)")
    assert parameters(module) == [
        f"h.{layer}.{kind}" for layer in ("q", "k", "v", "out") for kind in ("weight", "bias")
    ]
    assert {"h.q", "h.k", "h.v", "h.scores", "h.masked.where", "h.weights.softmax", "h.context", "h.out"} <= set(
        layers(module)
    )


def test_names_of_recurrent_layers():
    module = build("h = lstm(x, 3, layers=2, bidirectional=true)")
    passes = ("h.0", "h.0.reverse", "h.1", "h.1.reverse")
    kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    assert parameters(module) == [f"{one}.{kind}" for one in passes for kind in kinds]
    assert {"h.0.inputs", "h.0.4.gates", "h.1.reverse.0.h", "h.1.both"} <= set(layers(module))


@pytest.mark.parametrize(
    "call",
    [
        "multi_head_attention(x, 4, kv_heads=2, rotary=true, causal=true, dropout=0.5)",
        "multi_head_attention(x, 4, rotary=true, interleaved=true)",
        "multi_head_attention(x, 4, kv_heads=2, joint=true)",
        "box_iou(reshape(x, [20, 4]), ones([20, 4]), generalised=true)",
        "lstm(x, 3, layers=2, bidirectional=true, dropout=0.5)",
        "gru(x, 3, layers=2, bidirectional=true)",
        "rnn(x, 3, layers=2, bidirectional=true)",
        "gru_cell(s, s)",
        "channel_shuffle(x, 5)",
        "dot_interaction([s, s, s])",
    ],
)
def test_no_name_is_numbered(call: str):
    assert [name for name in layers(build(f"h = {call}")) if re.search(r"_\d+$", name)] == []


def test_operations_stand_where_the_program_calls():
    module = build("y = x\nh = lstm(y, 3)")
    places = {location_text(op) for op in module.walk() if isinstance(op, TrainOp) and layer_of(op).startswith("h.")}
    assert places == {"f:3:5"}


def test_frozen_keeps_all_weights_from_training():
    module = build("a = frozen multi_head_attention(x, 2); h = gru(a, 3)")
    assert parameters(module, "frozen") == [n for n in parameters(module) if n.startswith("a.")]
    assert len(parameters(module, "frozen")) == 8


# ---- whose block is meant


def test_a_block_of_the_program_wins():
    own = "block lstm(x, n) { return relu(x) * n }"
    assert parameters(build("h = lstm(x, 3)", own)) == []


def test_the_library_calls_its_own():
    own = "block rotary_embedding(x, base, interleaved) { return x * base * interleaved }\n"
    own += "block softmax(x) { return x }\nblock linear(x) { return x }\nblock _attend(x) { return x }"
    module = build("h = multi_head_attention(x, 2, rotary=true)", own)
    assert len(parameters(module)) == 8
    assert "h.weights.softmax" in layers(module)


def test_a_block_of_the_program_calls_the_library():
    own = "block encoder(x, n) { for i in 0..n { x = x + multi_head_attention(x, 2) }; return x }"
    names = parameters(build("h = encoder(x, 2)", own))
    assert names[0] == "h.0.x.multi_head_attention.q.weight"
    assert len(names) == 16


def test_parts_of_the_library_are_not_for_programs():
    assert message("h = _attend(x)") == "2:5: found the unknown layer or block '_attend'"


def test_element_types_are_kept():
    for element in ("f32", "bf16", "f16", "f64"):
        body = f"z = cast(x, to={element}); a = multi_head_attention(z, 2, causal=true, rotary=true); h = lstm(a, 3)"
        module = build(body)
        assert f"tensor<2x5x3x{element}>" in str(module)


def test_a_thousand_steps():
    text = "network t() { input x: f32[2, 1000, 8]; h = lstm(x, 4); loss sum(h) }"
    module = read_source(text, filename="f")
    assert 10_000 < sum(isinstance(op, TrainOp) for op in module.walk()) < 15_000


@pytest.mark.parametrize(
    "call",
    [
        "h = lstm(x, 3, layers=2, bidirectional=true{})",
        "h = gru(x, 3{})",
        "h = rnn(x, 3{})",
        "h, c = lstm_cell(x, x, x{})",
        "h = gru_cell(x, x{})",
        "h = rnn_cell(x, x{})",
    ],
)
@pytest.mark.parametrize("level", [0, 3])
def test_weights_with_their_gates_first_cost_the_same(call: str, level: int):
    def totals(option: str) -> object:
        sizes = [2, 6] if "cell" in call else [2, 5, 8]
        text = f"network t() {{ input x: f32{sizes}\n{call.format(option)}"
        report = compile_source(f"{text}\nloss sum(h * h); optimizer sgd(lr=0.1) }}", backend="cycle", opt_level=level)
        return report.totals, [(op.phase, op.macs, op.cycles) for op in report.ops]

    assert totals("") == totals(", transpose_weight=true")
