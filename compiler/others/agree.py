"""
Whether other compilers compute of a step what npuc's interpreter computes: on the random data of `npuc check`, in f32.

Both sides round to f32 after each operation, in other orders. So every result has to agree to 1e-5 of its largest
value; or, where a program amplifies rounding beyond that, to ten times what rounding to f32 moves the result of the
interpreter itself, of which the same program in f64 is the measure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import AnyFloat, Float32Type, Float64Type, ModuleOp

from npuc.compiler.core.errors import CheckError, UsageError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.options import Say
from npuc.compiler.core.stages import tell
from npuc.compiler.driver.check import MAC_LIMIT, random_data
from npuc.compiler.driver.primitives import as_primitives, check_above
from npuc.compiler.driver.read import texts_of
from npuc.compiler.driver.running.check_size import held_bytes, refuse_large
from npuc.compiler.driver.running.lower import lowered_source
from npuc.compiler.driver.running.options import RunKeywords, check_goals_used, run_options
from npuc.compiler.driver.watch.cost_trace import work_of
from npuc.compiler.emit.base import Translation, get_emitter
from npuc.compiler.interpreter.compare import Comparison, compare, compare_within
from npuc.compiler.interpreter.execute import argument_type, call, result_type, the_function
from npuc.compiler.interpreter.numbers import Numbers
from npuc.compiler.layers.base import Array
from npuc.compiler.others.base import Other, get_other
from npuc.dialects.copies import copied
from npuc.dialects.npu.widths import widths_of
from npuc.dialects.train.signature import arguments_of, result_names, results_of
from npuc.frontends.source import Source

WITHIN = 1e-5
_TINY = float(np.finfo(np.float64).tiny)


@frozen
class Agreement:
    """
    What another compiler made of a step: how many results there are, the one that is farthest from the interpreter's
    with its largest difference, relative to the largest value of it, and the comparison that says if that is equal.
    """

    compiler: str
    version: str
    results: int
    name: str
    difference: float
    comparison: Comparison

    def __str__(self) -> str:
        most = f"'{self.name}' differs most, by {self.difference:.1e} of its largest value"
        return f"{self.compiler} {self.version}: {self.results} results, {self.comparison}; {most}"


def check_with(
    source: Source,
    keywords: RunKeywords,
    others: Sequence[str],
    *,
    limit: int = MAC_LIMIT,
    progress: Callable[[Agreement], None] | None = None,
    say: Say | None = None,
) -> list[Agreement]:
    """
    Compile the step of a source with each compiler, run it, and compare.

    Raises `CheckError` for the first one that does not take the program, or computes another result; `UsageError` for
    one that is not installed.
    """
    compilers = [get_other(name) for name in others]
    options = replace(run_options(keywords), level="train")
    check_goals_used(options, scheduled=False)
    check_above(options)
    module = lowered_source(source, options, say=say)
    refuse_large(int(work_of(module)["MACs"]), held_bytes(module, ()), limit, source)
    _check_floats(module)
    data = random_data(module, options.seed)
    with texts_of(source).quoted():
        tell("run")
        single, double = _computed(module, data, double=False), _computed(module, data, double=True)
    primitives = as_primitives(copied(module), texts_of(source))
    found: list[Agreement] = []
    for other in compilers:
        tell(f"compile with {other.title}")
        outcome = _agreement(other, primitives, _values(module, data), single, double)
        if progress is not None:
            progress(outcome)
        if not outcome.comparison.equal:
            raise CheckError(
                f"{other.title} {outcome.version} computes '{outcome.name}' differently: by {outcome.difference:.1e} "
                f"of its largest value, expected {WITHIN:g}",
                hint=f"npuc compile --emit {other.emits} -o FILE writes what it was given",
            )
        found.append(outcome)
    return found


def _check_floats(module: ModuleOp) -> None:
    """Raise `UsageError` for floats that numpy does not have, or that are too short to be compared so."""
    func = the_function(module)
    types = [argument_type(func, one) for one in arguments_of(func)]
    types += [result_type(func, one) for one in results_of(func)]
    for type in types:
        element = type.element_type
        if isinstance(element, AnyFloat) and not isinstance(element, Float32Type | Float64Type):
            raise UsageError(f"--with compares in f32, and the program has {element}", hint="--precision f32")


def _values(module: ModuleOp, data: dict[str, Array]) -> list[Array]:
    """The values of all arguments as a program of the types of the function takes them."""
    func, numbers = the_function(module), Numbers()
    found: list[Array] = []
    for argument in arguments_of(func):
        type = argument_type(func, argument)
        value = data.get(argument.name)
        if value is None:
            value = np.full(type.get_shape(), argument.fill or 0.0)
        found.append(numbers.hold(value, type.element_type))
    return found


def _computed(module: ModuleOp, data: dict[str, Array], *, double: bool) -> dict[str, Array]:
    func = the_function(module)
    numbers = Numbers(double=double, accumulator_bits=widths_of(module).accumulator_bits)
    values = [
        numbers.hold(value, argument_type(func, one).element_type)
        for one, value in zip(arguments_of(func), _values(module, data), strict=True)
    ]
    results = call(module, func, values, numbers)
    return {name: np.asarray(one) for name, one in zip(result_names(func), results, strict=True)}


def _agreement(
    other: Other, primitives: ModuleOp, values: list[Array], single: dict[str, Array], double: dict[str, Array]
) -> Agreement:
    """What a compiler computes beside what the interpreter does in f32 and in f64."""
    emitter = get_emitter(other.emits)
    assert isinstance(emitter, Translation)
    func = the_function(primitives)
    results = other.run(emitter.write(primitives), func.sym_name.data, values)
    theirs = dict(zip(result_names(func), map(np.asarray, results), strict=True))
    comparison = compare_within(single, theirs, WITHIN)
    if not comparison.equal:
        amplified = compare(double, theirs, single)
        comparison = amplified if amplified.equal else comparison
    differences = {name: _difference(value, theirs[name]) for name, value in single.items()}
    name = comparison.name or max(differences, key=lambda name: differences[name])
    return Agreement(other.title, other.version(), len(results), name, differences[name], comparison)


def _difference(a: Array, b: Array) -> float:
    """The largest difference of two arrays, relative to the largest value of the first."""
    if a.shape != b.shape:
        return float("inf")
    a, b = a.astype(np.float64), b.astype(np.float64)
    both = np.isfinite(a) & np.isfinite(b)
    largest = max(float(np.abs(a[both]).max(initial=0.0)), _TINY)
    return float(np.abs(a[both] - b[both]).max(initial=0.0)) / largest
