"""How well a network that was trained classifies samples that it has not seen."""

from __future__ import annotations

from npuc.compiler.driver.running.dataset import Dataset
from npuc.compiler.driver.running.lower import lowered_source
from npuc.compiler.driver.running.options import RunOptions
from npuc.compiler.interpreter.execute import Run, argument_type, execute, result_type, the_function
from npuc.dialects.train.signature import arguments_of, results_of
from npuc.frontends.source import Source


def held_out_accuracy(source: Source, options: RunOptions, run: Run, data: Dataset) -> float | None:
    """
    The share of held-out samples whose class has the largest score, by the forward pass with the trained parameters.

    None for a program whose outputs do not have exactly one with a score for each class of each sample, and for one
    that is a whole training step already.
    """
    if not source.frontend.parametric and not source.frontend.lacks_step:
        return None
    asked = RunOptions(
        inference=True,
        **{name: getattr(options, name) for name in ("defines", "max_ops", "precision", "hardware", "overrides")},
    )
    module = lowered_source(source, asked)
    func = the_function(module)
    names = {one.name for one in arguments_of(func)}
    rows = next(argument_type(func, one).get_shape()[0] for one in arguments_of(func) if one.name == data.images)
    least = int(data.held_out[1].max()) + 1
    scores = [
        one.output
        for one in results_of(func)
        if one.output is not None
        and len(shape := result_type(func, one).get_shape()) == 2
        and shape[0] == rows
        and shape[1] >= least
    ]
    if len(scores) != 1:
        return None
    trained = {name: value for name, value in {**run.params, **run.updated}.items() if name in names}
    double, right = options.dtype == "float64", 0
    for batch, classes in data.tests(rows):
        found = execute(module, {**trained, **batch}, double=double).outputs[scores[0]]
        right += int((found[: len(classes)].argmax(axis=1) == classes).sum())
    return right / len(data.held_out[1])
