"""
SCALE-Sim's model on whole networks, 64 kB an operand. SCALE-Sim itself: 328 s and 2.65 GB for AlexNet (32 x 32, ws).

    pytest benchmarks/test_scalesim.py --benchmark-columns=mean,stddev
"""

from typing import Any

import pytest

from npuc.backends.cycle.scalesim import Columns, Configuration, Image, Layer, simulate
from npuc.compiler import compile_source
from npuc.compiler.analysis.machine.array import Dataflow

# SCALE-Sim's topology: the sizes of the inputs include padding where there is any; fully connected layers are 1 x 1.
ALEXNET = (
    Layer.convolution(Image(224, 224, 11, 11, 3, 4, 4), 96),
    Layer.convolution(Image(27, 27, 5, 5, 96), 256),
    Layer.convolution(Image(13, 13, 3, 3, 256), 384),
    Layer.convolution(Image(13, 13, 3, 3, 384), 384),
    Layer.convolution(Image(13, 13, 3, 3, 384), 256),
    Layer.convolution(Image(1, 1, 1, 1, 9216), 4096),
    Layer.convolution(Image(1, 1, 1, 1, 4096), 4096),
    Layer.convolution(Image(1, 1, 1, 1, 4096), 1000),
)


def resnet50() -> tuple[Layer, ...]:
    """All convolutions of ResNet-50 with 224 x 224 inputs: the stride is on the first of a block."""
    layers = [Layer.convolution(Image(230, 230, 7, 7, 3, 2, 2), 64)]
    channels = 64
    for size, width, blocks in ((56, 64, 3), (28, 128, 4), (14, 256, 6), (7, 512, 3)):
        for block in range(blocks):
            stride = 2 if block == 0 and width > 64 else 1
            entry = Image(size * stride, size * stride, 1, 1, channels, stride, stride)
            layers.append(Layer.convolution(entry, width))
            layers.append(Layer.convolution(Image(size + 2, size + 2, 3, 3, width), width))
            layers.append(Layer.convolution(Image(size, size, 1, 1, width), 4 * width))
            if block == 0:
                layers.append(Layer.convolution(entry, 4 * width))
            channels = 4 * width
    return tuple(layers)


NETWORKS = {"alexnet": ALEXNET, "resnet50": resnet50()}


def run(network: str, config: Configuration) -> list[Columns]:
    return [simulate(layer, config) for layer in NETWORKS[network]]


@pytest.mark.parametrize("side", [32, 128])
@pytest.mark.parametrize("dataflow", ["ws", "is", "os"])
@pytest.mark.parametrize("network", NETWORKS)
def test_memory(benchmark: Any, network: str, dataflow: Dataflow, side: int) -> None:
    benchmark.pedantic(lambda: run(network, Configuration(side, side, dataflow)), rounds=2)


@pytest.mark.parametrize("network", NETWORKS)
def test_compute(benchmark: Any, network: str) -> None:
    benchmark(lambda: run(network, Configuration(32, 32, "ws", memory=False)))


def products(count: int) -> str:
    """A topology of products, no two of one size."""
    return "Layer, M, N, K,\n" + "".join(f"fc{n}, {64 + n}, {256 + n % 7}, {32 + n % 5},\n" for n in range(count))


@pytest.mark.parametrize("rows", [1, 600])
def test_table(benchmark: Any, rows: int) -> None:
    """A topology through the compiler, compute columns only: divide by the rows."""
    text, only = products(rows), {"cycle.compat": "scalesim3", "scalesim.memory": False}
    benchmark(lambda: compile_source(text, "csv", hardware="scalesim", overrides=only))
