"""
Data sets to train on: handwritten digits, which come with scikit-learn.

    data = dataset("digits", module, seed=0)

1,797 images of 8 x 8 pixels with the digits 0 to 9 (E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten
Digits", UCI Machine Learning Repository, 1998; its test set). Four of five are trained on, the others are held out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from math import isqrt
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType, ModuleOp

from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.driver.running.data import Batch, Data, index_limit, inputs_of
from npuc.compiler.interpreter.execute import argument_type, the_function
from npuc.compiler.layers.base import Array
from npuc.dialects.tensors import shape_text
from npuc.dialects.train.signature import Argument

DATASETS = ("digits",)
HELD_OUT = 5
"""One of so many samples is not trained on."""
_FITTING = "[batch, pixels], [batch, rows, columns] or [batch, channels, rows, columns]"


@dataclass(frozen=True)
class Dataset(Data):
    """
    Batches of a data set, and the samples that are held out: the names of input and labels, and their values, a row a
    sample.
    """

    images: str
    labels: str
    held_out: tuple[Array, Array]

    def tests(self, rows: int) -> Iterator[tuple[Batch, Array]]:
        """The held-out samples in batches of `rows`, with their classes; the last one is filled up, its classes not."""
        images, classes = self.held_out
        for start in range(0, len(classes), rows):
            chosen = np.arange(start, start + rows) % len(classes)
            yield {self.images: images[chosen]}, classes[start : start + rows]


def check_dataset(name: str) -> None:
    """Raise `UsageError` for a data set that there is not, or not without scikit-learn."""
    if name not in DATASETS:
        raise UsageError(f"--dataset {name}: there is no such data set", hint=did_you_mean(name, DATASETS))
    _load(name)


def dataset(name: str, module: ModuleOp, seed: int) -> Dataset:
    """
    A data set for a program with one input of images and labels: batches in random order, each sample once before any
    comes again.

    Pixels have mean 0 and deviation 1. An image is scaled to the rows and columns of the input by its nearest pixels;
    all channels are the same, and an input of pixels in a row has those of a square. Raises `UsageError` for a program
    that is not for images and their classes.
    """
    pixels, classes = _load(name)
    images, labels = _arguments(name, module, int(classes.max()) + 1)
    shape = argument_type(the_function(module), images).get_shape()
    pixels, scaled = _shaped((pixels - pixels.mean()) / pixels.std(), shape)
    random = np.random.default_rng(seed)
    order = random.permutation(len(classes))
    held, trained = order[: len(order) // HELD_OUT], order[len(order) // HELD_OUT :]
    queue: list[int] = []

    def batch(step: int) -> Batch:
        del step
        while len(queue) < shape[0]:
            queue.extend(map(int, random.permutation(trained)))
        chosen, queue[:] = queue[: shape[0]], queue[shape[0] :]
        return {images.name: pixels[chosen], labels.name: classes[chosen]}

    said = f"{name} of scikit-learn, {len(trained):,} of {len(order):,} images in random batches, seed {seed}{scaled}"
    return Dataset(said, batch, images.name, labels.name, (pixels[held], classes[held]))


def _load(name: str) -> tuple[Array, Array]:
    """The images and classes. Raises `UsageError` without scikit-learn."""
    try:
        found: Any = import_module("sklearn.datasets").load_digits()
    except ModuleNotFoundError as e:
        if (e.name or "").partition(".")[0] != "sklearn":
            raise
        message = f"--dataset {name} needs scikit-learn, which is not installed"
        raise UsageError(message, hint='pip install "npuc[datasets]"') from None
    return np.asarray(found.images, np.float64), np.asarray(found.target)


def _arguments(name: str, module: ModuleOp, classes: int) -> tuple[Argument, Argument]:
    """The input and the labels of a program. Raises `UsageError` for one that has others, or too few classes."""
    func = the_function(module)
    limits = {one.name: index_limit(func.body.block.args[one.index]) for one in inputs_of(module)}
    types = {one.name: argument_type(func, one) for one in inputs_of(module)}
    whole = {key: isinstance(type.element_type, IntegerType) for key, type in types.items()}
    images = [one for one in inputs_of(module) if not whole[one.name]]
    labels = [one for one in inputs_of(module) if whole[one.name] and limits[one.name] is not None]
    if (
        (len(images), len(labels)) != (1, 1)
        or len(inputs_of(module)) != 2
        or len(types[labels[0].name].get_shape()) != 1
    ):
        told = ", ".join(f"{key}: {shape_text(type)}" for key, type in types.items()) or "none"
        raise UsageError(
            f"--dataset {name} is for a program with images and a class for each; this one has the inputs {told}",
            hint="npuc run samples:lenet --dataset digits",
        )
    limit = limits[labels[0].name] or 0
    if limit < classes:
        raise UsageError(f"--dataset {name}: the program has {limit} classes, expected at least {classes}")
    shape = types[images[0].name].get_shape()
    if len(shape) not in (2, 3, 4) or (len(shape) == 2 and _square(shape[1]) is None):
        raise UsageError(
            f"--dataset {name}: the input {images[0].name} is {shape_text(types[images[0].name])}, which is no image",
            hint=f"{_FITTING}; pixels in a row are those of a square, 64 or 784, of one channel or three",
        )
    return images[0], labels[0]


def _square(pixels: int) -> tuple[int, int] | None:
    """The channels (1 or 3) and rows of a square image of so many values; None if there is none."""
    for channels in (1, 3):
        rows = isqrt(pixels // channels)
        if rows and channels * rows * rows == pixels:
            return channels, rows
    return None


def _shaped(pixels: Array, shape: tuple[int, ...]) -> tuple[Array, str]:
    """Images in the shape of an input, and how they were scaled in words."""
    square = _square(shape[1]) if len(shape) == 2 else None
    channels, rows, columns = (1, *shape[-2:]) if square is None else (square[0], square[1], square[1])
    channels = shape[1] if len(shape) == 4 else channels
    _, high, wide = pixels.shape
    scaled = pixels[:, np.arange(rows) * high // rows][:, :, np.arange(columns) * wide // columns]
    told = "" if (rows, columns) == (high, wide) else f", scaled from {high}x{wide} to {rows}x{columns}"
    told += f", {channels} equal channels" if channels > 1 else ""
    whole = np.broadcast_to(scaled[:, None], (len(scaled), channels, rows, columns))
    return whole.reshape(len(scaled), *shape[1:]), told
