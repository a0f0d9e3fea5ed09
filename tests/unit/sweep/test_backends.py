"""A sweep over backends scores the program that compiling with these backends scores."""

import pytest

from npuc.compiler import compile_source, sweep_source

NETWORK = """network two(batch=4) {
  input x: f32[batch, 24]
  h = relu(linear(x, 16))
  loss mean(linear(h, 8) ** 2)
  optimizer sgd(lr=0.1)
}"""
MACHINE = {"array.rows": 64, "compute.tflops": 10.0, "memory.cache_mib": 0.01}


@pytest.mark.parametrize("backends", [["cycle", "roofline"], ["roofline", "cycle"]])
@pytest.mark.parametrize("opt_level", [None, 3])
def test_several_backends_score_one_program(backends: list[str], opt_level: int | None) -> None:
    reports = compile_source(
        NETWORK, backend=backends, hardware="igo-large", overrides=MACHINE, opt_level=opt_level, defines={"batch": 8}
    )
    known = {report.backend: report.totals for report in reports}
    for vary in ({"backend": backends, "batch": [4, 8]}, {"batch": [4, 8], "backend": backends}):
        points = list(sweep_source(NETWORK, vary=vary, hardware="igo-large", overrides=MACHINE, opt_level=opt_level))
        found = {point.values["backend"]: point.totals for point in points if point.values["batch"] == 8}
        assert found == known
        assert not any("array.rows" in (point.unread or ()) for point in points if point.values["backend"] == "cycle")


def test_points_with_a_machine_each_score_the_program_of_that_machine() -> None:
    vary = {"array.rows": [8, 128], "backend": ["cycle", "roofline"], "memory.cache_mib": [0.01, 1]}
    for point in sweep_source(
        NETWORK, vary=vary, hardware="igo-large", overrides={"compute.tflops": 10.0}, opt_level=3
    ):
        keys = {"compute.tflops": 10.0, **{key: value for key, value in point.values.items() if key != "backend"}}
        reports = compile_source(
            NETWORK, backend=["cycle", "roofline"], hardware="igo-large", overrides=keys, opt_level=3
        )
        assert point.totals == {report.backend: report.totals for report in reports}[point.values["backend"]]


def test_a_program_in_ir_that_is_lowered_already_is_taken_as_it_is() -> None:
    text = """func.func @f(%x: tensor<4x6xf32>, %w: tensor<6x8xf32>) -> tensor<4x8xf32> {
      %y = npu.contract (m = 4, n = 8, k = 6) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
        {layer = "y"} : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
      func.return %y : tensor<4x8xf32>
    }"""
    for point in sweep_source(text, "mlir", vary={"dram.gb_per_s": [1, 10]}, backend="roofline"):
        assert point.totals == compile_source(text, "mlir", backend="roofline", overrides=point.values).totals
