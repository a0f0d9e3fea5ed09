"""The npu interpreter: windows, work by meaning, values that were overwritten, element types, what schedules move."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.dialects.scf import Scf
from xdsl.interpreter import Interpreter
from xdsl.interpreters.arith import ArithFunctions
from xdsl.interpreters.func import FuncFunctions
from xdsl.interpreters.scf import ScfFunctions
from xdsl.parser import Parser
from xdsl.utils.exceptions import InterpretationError

from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.verify import SourceTexts, verify_module
from npuc.compiler.interpreter import contraction
from npuc.compiler.interpreter.counter import Moved, Place, TrafficCounter
from npuc.compiler.interpreter.npu import NpuFunctions
from npuc.compiler.interpreter.numbers import Numbers
from npuc.compiler.interpreter.tiles import TileFunctions
from npuc.compiler.transforms.lower_tiles import LowerTilesPass
from npuc.dialects.npu import NPU
from npuc.dialects.provenance import Role
from npuc.frontends.mlir import read_mlir

Array: TypeAlias = npt.NDArray[Any]


def integers(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float64)


def run(
    text: str, *args: Array, lower: bool = False, numbers: Numbers | None = None, counter: TrafficCounter | None = None
) -> tuple[Any, ...]:
    context = Context()
    for dialect in (Builtin, Func, Scf, Arith, NPU):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    if lower:
        LowerTilesPass().apply(context, module)
        module.verify()
    numbers = numbers or Numbers(double=True)
    interpreter = Interpreter(module, listeners=() if counter is None else (counter,))
    for functions in (FuncFunctions(), ScfFunctions(), ArithFunctions(), NpuFunctions(numbers), TileFunctions(numbers)):
        interpreter.register_implementations(functions)
    return interpreter.call_op("f", args)


IM2COL = """
func.func @f(%x: tensor<2x3x7x8xf64>) -> (tensor<24x27xf64>, tensor<2x3x7x8xf64>) {
  %c = npu.im2col %x rows (b = 2, y = 4, x = 3) cols (i = 3, r = 3, s = 3) [b, i, y * 2 + r - 1, x * 3 + s - 1]
    : (tensor<2x3x7x8xf64>) -> tensor<24x27xf64>
  %d = npu.col2im %c rows (b = 2, y = 4, x = 3) cols (i = 3, r = 3, s = 3) [b, i, y * 2 + r - 1, x * 3 + s - 1]
    : (tensor<24x27xf64>) -> tensor<2x3x7x8xf64>
  func.return %c, %d : tensor<24x27xf64>, tensor<2x3x7x8xf64>
}
"""


def test_windows_as_a_matrix_and_back() -> None:
    x = integers(2, 3, 7, 8)
    matrix, image = run(IM2COL, x)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 2), (1, 2)))
    expected, times = np.zeros((2, 4, 3, 3, 3, 3)), np.zeros(padded.shape)
    for y in range(4):
        for col in range(3):
            place = np.s_[:, :, 2 * y : 2 * y + 3, 3 * col : 3 * col + 3]
            expected[:, y, col] = padded[place]
            times[place] += 1
    np.testing.assert_array_equal(matrix, expected.reshape(24, 27))
    np.testing.assert_array_equal(image, (padded * times)[:, :, 1:8, 1:9])


def test_grouped_windows_make_a_batch_of_matrices() -> None:
    text = """
    func.func @f(%x: tensor<4x6xf64>) -> tensor<4x5x2xf64> {
      %c = npu.im2col %x batch (g = 4) rows (y = 5) cols (r = 2) [g, y + r] : (tensor<4x6xf64>) -> tensor<4x5x2xf64>
      func.return %c : tensor<4x5x2xf64>
    }
    """
    x = integers(4, 6)
    np.testing.assert_array_equal(run(text, x)[0], np.stack([x[:, :5], x[:, 1:]], axis=2))


def test_work_means_what_its_train_operation_means() -> None:
    text = """
    func.func @f(%x: tensor<2x3xf64>) -> tensor<6xf64> {
      %a = npu.vector relu(%x) ops 6 : (tensor<2x3xf64>) -> tensor<2x3xf64>
      %b = npu.move transpose(%a) <{axes = array<i64: 1, 0>}> : (tensor<2x3xf64>) -> tensor<3x2xf64>
      %c = npu.view reshape(%b) : (tensor<3x2xf64>) -> tensor<6xf64>
      func.return %c : tensor<6xf64>
    }
    """
    x = integers(2, 3)
    np.testing.assert_array_equal(run(text, x)[0], np.maximum(x, 0).T.reshape(6))


def test_work_of_an_unknown_kind_is_an_error() -> None:
    text = """
    func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> {
      %a = npu.vector frobnicate(%x) ops 2 : (tensor<2xf64>) -> tensor<2xf64>
      func.return %a : tensor<2xf64>
    }
    """
    module = read_mlir(text, "f.mlir")
    with pytest.raises(SourceError, match=r"f\.mlir:3:7: .*kind is 'frobnicate', expected the name"):
        verify_module(module, SourceTexts())


CONVOLUTION = """
func.func @f(%x: tensor<2x3x9x9xf64>, %w: tensor<4x3x3x3xf64>, %dy: tensor<2x4x5x5xf64>)
    -> (tensor<2x4x5x5xf64>, tensor<2x3x9x9xf64>, tensor<4x3x3x3xf64>) {
  %y, %dx, %dw = npu.contract (b = 2, o = 4, i = 3, y = 5, x = 5, r = 3, s = 3)
    ins(X = %x[b, i, y * 2 + r - 1, x * 2 + s - 1], W = %w[o, i, r, s], dY = %dy[b, o, y, x])
    outs(Y[b, o, y, x], dX[b, i, y * 2 + r - 1, x * 2 + s - 1], dW[o, i, r, s])
    do(Y += X * W, dX += dY * W, dW += X * dY)
    : (tensor<2x3x9x9xf64>, tensor<4x3x3x3xf64>, tensor<2x4x5x5xf64>)
      -> (tensor<2x4x5x5xf64>, tensor<2x3x9x9xf64>, tensor<4x3x3x3xf64>)
  func.return %y, %dx, %dw : tensor<2x4x5x5xf64>, tensor<2x3x9x9xf64>, tensor<4x3x3x3xf64>
}
"""


def test_windows_too_large_to_gather_are_stepped_through(monkeypatch: pytest.MonkeyPatch) -> None:
    args = integers(2, 3, 9, 9), integers(4, 3, 3, 3, seed=1), integers(2, 4, 5, 5, seed=2)
    gathered = run(CONVOLUTION, *args)
    monkeypatch.setattr(contraction, "GATHER_LIMIT", 0)
    for found, expected in zip(run(CONVOLUTION, *args), gathered, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("%c = npu.mac %a[m] += %x[m] * %x[m] over (m = 0 : 2)", "used after an operation that updated it in place"),
        ("%c = npu.start %a[m] from %x[m] over (m = 0 : 2)", "used after an operation that updated it in place"),
    ],
)
def test_a_block_that_was_updated_in_place_cannot_be_used_again(second: str, message: str) -> None:
    types = "!npu.block<2xf64>, !npu.block<2xf64>"
    third = ", !npu.block<2xf64>" if "mac" in second else ""
    text = f"""
    func.func @f(%X: tensor<2xf64>) {{
      %x = npu.load %X[m] over (m = 0 : 2) : tensor<2xf64> -> !npu.block<2xf64>
      %a = npu.zero [m] over (m = 0 : 2) : !npu.block<2xf64>
      %b = npu.mac %a[m] += %x[m] * %x[m] over (m = 0 : 2) : {types}, !npu.block<2xf64>
      {second} : {types}{third}
      func.return
    }}
    """
    with pytest.raises(InterpretationError, match=message):
        run(text, integers(2))


def test_a_tensor_that_was_stored_into_cannot_be_loaded_again() -> None:
    text = """
    func.func @f() {
      %e = npu.empty : tensor<2xf64>
      %a = npu.zero [m] over (m = 0 : 2) : !npu.block<2xf64>
      %f = npu.store %a into %e[m] over (m = 0 : 2) : !npu.block<2xf64>, tensor<2xf64>
      %b = npu.load partial %e[m] over (m = 0 : 2) : tensor<2xf64> -> !npu.block<2xf64>
      func.return
    }
    """
    with pytest.raises(InterpretationError, match="updated it in place"):
        run(text)


def test_only_unfinished_tensors_are_loaded_partially() -> None:
    text = """
    func.func @f(%x: tensor<2xf64>) {
      %b = npu.load partial %x[m] over (m = 0 : 2) : tensor<2xf64> -> !npu.block<2xf64>
      func.return
    }
    """
    with pytest.raises(InterpretationError, match="'partial'"):
        run(text, integers(2))


def test_a_load_that_is_off_moves_nothing() -> None:
    text = """
    func.func @f(%x: tensor<4xf64>, %on: i1) {
      %b = npu.load %x[m] over (m = 0 : 3) when %on {tensor = "X"} : tensor<4xf64> -> !npu.block<3xf64>
      func.return
    }
    """
    for on, expected in ((0, 0), (1, 3)):
        counter = TrafficCounter()
        run(text, integers(4), np.array(on), counter=counter)
        assert counter.moved == {Place("", Role.FORWARD, "X"): Moved(expected, 0)}
        assert (counter.peak, counter.held) == (3, 0)


GEMM = """
func.func @f(%dY: tensor<6x4x{t}>, %W: tensor<8x4x{t}>, %X: tensor<6x8x{t}>) -> (tensor<6x8x{t}>, tensor<8x4x{t}>) {{
  %dX, %dW = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n], X = %X[m, k]) outs(dX[m, k], dW[k, n])
    do(dX += dY * W, dW += X * dY) {schedule} {{layer = "fc1", role = "dxdw"}}
    : (tensor<6x4x{t}>, tensor<8x4x{t}>, tensor<6x8x{t}>) -> (tensor<6x8x{t}>, tensor<8x4x{t}>)
  func.return %dX, %dW : tensor<6x8x{t}>, tensor<8x4x{t}>
}}
"""

# Schedules of the 6x8x4 pair of gradients, tiles of 2: read and written elements, and elements held.
NAMED = [
    ("loops [m : 2, k : 2, n : 2]", (96, 96, 48, (0, 48), (64, 96)), 20),
    ("loops [m : 2, k : 2, n : 2] keep(dY = 2)", (24, 96, 48, (0, 48), (64, 96)), 24),
    ("loops [m : 2, k : 2, n : 2] keep(dY = 2, W = 3, dW = 3)", (24, 32, 48, (0, 48), (0, 32)), 80),
    ("loops [n : 2, k : 2, m : 2]", (96, 32, 96, (48, 96), (0, 32)), 20),
    ("loops [k : 2, m : 2, n : 2] keep(W = 2, dW = 2)", (96, 32, 48, (0, 48), (0, 32)), 28),
    ("loops [k : 2, m : 2, n : 2] keep(W = 2, dW = 2, dY = 3)", (24, 32, 48, (0, 48), (0, 32)), 48),
]


@pytest.mark.parametrize(("schedule", "moves", "held"), NAMED)
def test_named_schedules_move_and_hold_what_is_known(schedule: str, moves: tuple[Any, ...], held: int) -> None:
    args = integers(6, 4), integers(8, 4, seed=1), integers(6, 8, seed=2)
    counter = TrafficCounter()
    dx, dw = run(GEMM.format(t="f64", schedule=schedule), *args, lower=True, counter=counter)
    np.testing.assert_array_equal(dx, args[0] @ args[1].T)
    np.testing.assert_array_equal(dw, args[2].T @ args[0])
    dy_read, w_read, x_read, dx_moved, dw_moved = moves
    expected = {
        "dY": Moved(dy_read),
        "W": Moved(w_read),
        "X": Moved(x_read),
        "dX": Moved(*dx_moved),
        "dW": Moved(*dw_moved),
    }
    assert counter.moved == {Place("fc1", Role.DXDW, name): moved for name, moved in expected.items()}
    assert counter.peak == held


@pytest.mark.parametrize("element", ["f64", "f32", "f16", "bf16"])
def test_tiles_have_the_element_types_of_the_contraction(element: str) -> None:
    numbers = Numbers()
    args = [a.astype(numbers_type(element)) for a in (integers(6, 4), integers(8, 4, seed=1), integers(6, 8, seed=2))]
    text = GEMM.format(t=element, schedule="loops [n : 2, k : 2, m : 2]")
    for found, expected in zip(
        run(text, *args, lower=True, numbers=numbers), run(text, *args, numbers=numbers), strict=True
    ):
        assert found.dtype == expected.dtype == numbers_type(element)
        np.testing.assert_array_equal(found, expected)


def numbers_type(element: str) -> npt.DTypeLike:
    """How numpy holds an element type: bf16 in a float32."""
    return {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.float32}[element]
