"""`--devices`, `--parallel` and the pass `parallelize`: what is refused, and how that is said."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Npuc

DEEP = """\
network deep(batch=8) {
  input  x: f32[batch, 16]
  labels y: i32[batch]
  h = x
  for i in 0..6 { h = gelu(linear(h, 16)) }
  loss cross_entropy(h, y)
  optimizer sgd(lr=0.1)
}
"""
NET = """\
network net(batch=8) {
  input  x: f32[batch, 12]
  labels y: i32[batch]
  h = relu(linear(x, 12, bias=false))
  logits = linear(h, 8)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""
RESIDUAL = NET.replace("linear(h, 8)", "linear(h + linear(h, 12), 8)")


@pytest.fixture
def net(folder: Path) -> str:
    """A network whose axes of 12 are divisible by 4 devices, not by 8."""
    (folder / "net.dsl").write_text(NET)
    return "net.dsl"


@pytest.mark.parametrize(
    ("arguments", "status", "error", "hint"),
    [
        ("--devices 16 --parallel dp", 3, "the batch has 8 elements, expected a multiple of 16", "-D batch=N"),
        (
            "--devices 8 --parallel mp",
            3,
            "net.dsl:4:12: error: layer 'h.linear' splits its input channels: "
            "found 12 in 8x12, expected a multiple of 8, the devices",
            "fewer --devices",
        ),
        (
            "--devices 64 --parallel joint",
            3,
            "has no axis to split: found 8 of its batch, 12 of its input channels",
            "hint: other sizes (-D batch=N), or fewer --devices; npuc",
        ),
        ("--devices 6", 2, "--devices 6: expected a power of two", "2, 4, 8, 16"),
        ("--devices 8192", 2, "--devices 8,192: expected up to 4,096", ""),
        ("--parallel mp", 2, "--parallel mp needs --devices N", "--devices 16"),
        ("--devices 2 --parallel hyper", 2, "unknown strategy of parallelism 'hyper'", "hypar"),
        ("--devices 2 --convention table3", 2, "unknown convention 'table3'", "table2"),
        ("--devices 2 -p parallelize", 2, "--devices and the pass parallelize of -p say the same", "leave out one"),
        ("-p parallelize{strategy=hyper}", 2, "strategy is 'hyper', expected dp, mp, owt, hypar", ""),
        ("-p parallelize{convention=paper}", 2, "convention is 'paper', expected table2, published, physical", ""),
        ("-p parallelize{devices=6}", 2, "devices is 6, expected a power of two, at least 2", ""),
        ("-p parallelize{devices=1}", 2, "devices is 1, expected a power of two, at least 2", ""),
        ("-p autodiff,lower-to-npu,parallelize", 1, "parallelize: found npu.contract, expected train operations", ""),
        (
            "-p parallelize,parallelize,autodiff",
            1,
            "parallelize: found a program of 2 devices, expected one of one",
            "",
        ),
        (
            "-p parallelize,autodiff,parallelize",
            1,
            "parallelize: found a program of 2 devices, expected one of one",
            "",
        ),
    ],
)
def test_what_is_refused_is_said(npuc: Npuc, net: str, arguments: str, status: int, error: str, hint: str) -> None:
    outcome = npuc("compile", net, *arguments.split())
    assert outcome.status == status
    assert error in outcome.err
    assert hint in outcome.err
    assert outcome.out == ""


def test_a_batch_that_does_not_divide_is_shown_where_it_is_declared(npuc: Npuc, net: str) -> None:
    outcome = npuc("compile", net, "--devices", "16", "--parallel", "dp", "-q")
    assert outcome.status == 3
    assert outcome.err.splitlines()[:3] == [
        "net.dsl:2:10: error: the batch has 8 elements, expected a multiple of 16, the devices that split it",
        "      input  x: f32[batch, 12]",
        "             ^",
    ]


def test_one_device_is_no_mesh(npuc: Npuc, net: str) -> None:
    outcome = npuc("compile", net, "--devices", "1", "--mesh", "2x2")
    assert outcome.status == 2
    assert "--devices 1: --mesh 2x2 has several" in outcome.err
    assert npuc("compile", net, "--mesh", "1").status == 2
    passes = npuc("compile", net, "--zero", "-p", "autodiff,lower-to-npu")
    assert "--zero needs --devices N" in passes.err


def test_a_sweep_may_begin_at_one_device(npuc: Npuc, net: str) -> None:
    out = npuc("sweep", net, "--vary", "devices=1,2", "--parallel", "joint", "--zero", "-q", "--csv", "-")
    assert out.status == 0
    assert len(out.out.splitlines()) == 3
    refused = npuc("sweep", net, "--vary", "devices=1,2", "--devices", "1")
    assert refused.status == 2
    assert "--vary devices: --devices says what it is" in refused.err
