"""The cycle backend through the driver: budgets that the machine does not have, bounds of time."""

import pytest

from npuc.compiler import CapacityError, compile_source

PRODUCT = """
func.func @product(%x: tensor<512x512xf32> {train.input = "x"}, %w: tensor<512x512xf32> {train.param = "w"})
    -> (tensor<512x512xf32> {train.output = "y"}) {
  %y = npu.contract (m = 512, n = 512, k = 512) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
       SCHEDULE {layer = "y"} : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  func.return %y : tensor<512x512xf32>
}
"""


def test_a_schedule_that_promises_more_than_the_machine_has_is_refused_at_its_place() -> None:
    text = PRODUCT.replace("SCHEDULE", "loops [m : 128] spm 1600000 bytes")
    with pytest.raises(CapacityError, match="declares 1,600,000 bytes of SPM, igo-large has 32,768") as caught:
        compile_source(text, format="mlir", filename="p.mlir", overrides={"memory.spm_kib": 64}, inference=True)
    assert caught.value.exit_code == 3
    assert "declare fewer bytes if its blocks take fewer" in str(caught.value.hint)
    assert caught.value.location is not None
    assert (caught.value.location.file, caught.value.location.line) == ("p.mlir", 4)


def test_no_schedule_is_faster_than_filling_the_array_and_all_macs_on_the_whole_of_it() -> None:
    text = PRODUCT.replace("SCHEDULE", "loops [m : 128, n : 128]")
    report = compile_source(text, format="mlir", overrides={"dram.gb_per_s": 100_000}, inference=True)
    (row,) = report.ops
    assert row.lower_bound_seconds == pytest.approx((512**3 / (128 * 128) + 128 + 128 - 2) / 1050e6)
    assert row.seconds is not None
    assert row.lower_bound_seconds is not None
    assert row.seconds >= row.lower_bound_seconds
