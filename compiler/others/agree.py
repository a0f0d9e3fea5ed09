"""
Whether other compilers compute of a step what npuc's interpreter computes: on the random data of `npuc check`, in f32.

Parameters and states of the optimizer are as at the start of a training, where the program says how they start: large
integers saturate what they meet, and f32 has no digits to tell what then is left of a gradient.

Both sides round to f32 after each operation, in other orders. So every result has to agree to 1e-5 of its largest
value. Where a program amplifies rounding beyond that, the same program runs in f64 as well, and has to agree to 1e-5
there; and in f32 to ten times what rounding to f32, or data that differ in their last digits in f32, move it in the
interpreter, of which f64 is the measure. Some results are nothing but rounding, as the gradient of a bias that is added
to all keys of an attention, which is 0: in f64 they may differ by ten times what the last digits of the data move them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import AnyFloat, Float32Type, Float64Type, ModuleOp, f64

from npuc.compiler.core.errors import CheckError, UsageError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.options import Say
from npuc.compiler.core.stages import tell
from npuc.compiler.core.verify import SourceTexts
from npuc.compiler.driver.check import MAC_LIMIT, initial_data, nudged, random_data
from npuc.compiler.driver.levels.primitives import as_primitives, check_above
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
from npuc.compiler.transforms.set_precision import set_floats
from npuc.dialects.copies import copied
from npuc.dialects.npu.widths import widths_of
from npuc.dialects.train.signature import ArgumentKind, arguments_of, result_names, results_of
from npuc.frontends.source import Source

WITHIN = 1e-5
_TINY = float(np.finfo(np.float64).tiny)


@frozen
class Agreement:
    """
    What another compiler made of a step: how many results there are, and of each that does not agree to 1e-5 in f32
    how the comparison of amplified rounding ends: that of f64 where they differ there, else that of f32. `rounding` are
    those of them that are rounding alone, in f64, too; `single`: the compiler does not take the program in f64. `name`
    is the one of the others that is farthest from the interpreter's, with its largest difference relative to the
    largest value of it.
    """

    compiler: str
    version: str
    results: int
    name: str
    difference: float
    amplified: tuple[tuple[str, Comparison], ...]
    rounding: tuple[str, ...] = ()
    single: bool = False

    @property
    def wrong(self) -> list[str]:
        """The results that differ."""
        return [name for name, one in self.amplified if not one.equal]

    def __str__(self) -> str:
        equal, most = self.results - len(self.amplified), f"'{self.name}' differs most, by {self.difference:.1e}"
        text = f"{self.compiler} {self.version}: {self.results} results, {equal} equal to {WITHIN:g} ({most})"
        if self.wrong:
            return f"{text}, {len(self.wrong)} different"
        larger = [name for name, _ in self.amplified if name not in self.rounding]
        if larger:
            where = "in f32, as it takes no f64 here," if self.single else "in f64 and in f32"
            text += f", {len(larger)} equal {where} within rounding, which this program amplifies ('{larger[0]}')"
        if self.rounding:
            text += f", {len(self.rounding)} that rounding makes, of which both have as much ('{self.rounding[0]}')"
        return text


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
    data = _data(module, options.seed)
    with texts_of(source).quoted():
        tell("run")
        expected = computed(module, data, double=False)
    step = _Step(module, as_primitives(copied(module), texts_of(source)), texts_of(source), data, expected)
    found: list[Agreement] = []
    for other in compilers:
        tell(f"compile with {other.title}")
        outcome = _agreement(other, step)
        if progress is not None:
            progress(outcome)
        if outcome.wrong:
            raise CheckError(
                f"{other.title} {outcome.version} computes '{outcome.wrong[0]}' differently, by more than {WITHIN:g} "
                "of its largest value, and than rounding to f32 accounts for",
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


def _data(module: ModuleOp, seed: int) -> dict[str, Array]:
    """The values of arguments by name."""
    data = initial_data(module, random_data(module, seed), seed)
    for one in arguments_of(the_function(module)):
        if one.kind is ArgumentKind.STATE and one.fill is not None:
            data[one.name] = np.full(data[one.name].shape, one.fill, data[one.name].dtype)
    return data


def _nudged(data: dict[str, Array]) -> dict[str, Array]:
    """Data whose floats differ from the given ones by up to 16 units in the last place of f32."""
    random, unit = np.random.default_rng(0), 16 * float(np.finfo(np.float32).eps)
    return {
        name: a * (1 + random.uniform(-unit, unit, a.shape)) if a.dtype.kind == "f" else a for name, a in data.items()
    }


def _values(module: ModuleOp, data: dict[str, Array], *, double: bool = False) -> list[Array]:
    """The values of all arguments, in the types of the function, or with floats of 64 bits."""
    func, numbers = the_function(module), Numbers(double=double)
    found: list[Array] = []
    for argument in arguments_of(func):
        type = argument_type(func, argument)
        value = data.get(argument.name)
        if value is None:
            value = np.full(type.get_shape(), argument.fill or 0.0)
        found.append(numbers.hold(value, type.element_type))
    return found


def computed(module: ModuleOp, data: dict[str, Array], *, double: bool) -> dict[str, Array]:
    """The results of the interpreter by name."""
    func = the_function(module)
    numbers = Numbers(double=double, accumulator_bits=widths_of(module).accumulator_bits)
    results = call(module, func, _values(module, data, double=double), numbers)
    return {name: np.asarray(one) for name, one in zip(result_names(func), results, strict=True)}


@frozen
class _Step:
    """A program and the same in primitives, the text that errors show, and what the interpreter computes of data."""

    module: ModuleOp
    primitives: ModuleOp
    sources: SourceTexts
    data: dict[str, Array]
    expected: dict[str, Array]


def _agreement(other: Other, step: _Step) -> Agreement:
    """What a compiler computes of a program in primitives beside what the interpreter does of the program."""
    module, data, expected = step.module, step.data, step.expected
    theirs = _run(other, step.primitives, _values(module, data))
    differences = {name: _difference(value, theirs[name]) for name, value in expected.items()}
    far = [name for name in expected if not compare_within({name: expected[name]}, theirs, WITHIN).equal]
    amplified, single = _amplified(other, step, theirs, far) if far else ([], False)
    most = max([name for name in expected if name not in far] or far, key=lambda name: differences[name])
    outcomes = tuple((name, outcome) for name, outcome, _ in amplified)
    alone = tuple(name for name, outcome, alone in amplified if alone and outcome.equal)
    return Agreement(other.title, other.version(), len(theirs), most, differences[most], outcomes, alone, single)


def _in_double(other: Other, step: _Step) -> dict[str, Array] | None:
    """What a compiler computes of a program in f64; None where it takes it in f32 alone, as of functions it lacks."""
    primitives = as_primitives(_doubled(step.module), step.sources)
    try:
        return _run(other, primitives, _values(step.module, step.data, double=True))
    except CheckError:
        return None


def _amplified(
    other: Other, step: _Step, theirs: dict[str, Array], far: Sequence[str]
) -> tuple[list[tuple[str, Comparison, bool]], bool]:
    """
    The results that are far away in f32 by name, how they compare, and whether they are rounding alone; and whether
    f32 alone was compared.
    """
    module, data = step.module, step.data
    exact, moved = (computed(module, one, double=True) for one in (data, _nudged(data)))
    found_in_double = _in_double(other, step)
    in_double = exact if found_in_double is None else found_in_double
    alone = {name for name in far if not compare_within({name: exact[name]}, in_double, WITHIN).equal}
    last = computed(module, nudged(data), double=True) if alone else {}
    found: list[tuple[str, Comparison, bool]] = []
    for name in far:
        one = {name: exact[name]}
        outcome = compare(one, in_double, last) if name in alone else Comparison(equal=True, exact=False)
        if outcome.equal:
            outcome = compare(one, theirs, {name: _farther(exact[name], step.expected[name], moved[name])})
        found.append((name, outcome, name in alone))
    return found, found_in_double is None


def _run(other: Other, primitives: ModuleOp, values: Sequence[Array]) -> dict[str, Array]:
    """The results of a program in primitives by name, as a compiler computes them."""
    emitter = get_emitter(other.emits)
    assert isinstance(emitter, Translation)
    func = the_function(primitives)
    results = other.run(emitter.write(primitives), func.sym_name.data, values)
    return dict(zip(result_names(func), map(np.asarray, results), strict=True))


def _doubled(module: ModuleOp) -> ModuleOp:
    """A copy of a program with floats of 64 bits."""
    double = copied(module)
    set_floats(the_function(double), f64)
    return double


def _farther(exact: Array, *others: Array) -> Array:
    """The one of some arrays that differs from an exact one by more, at any place."""
    return max(others, key=lambda other: _difference(exact, other))


def _difference(a: Array, b: Array) -> float:
    """The largest difference of two arrays, relative to the largest value of the first."""
    if a.shape != b.shape:
        return float("inf")
    a, b = a.astype(np.float64), b.astype(np.float64)
    both = np.isfinite(a) & np.isfinite(b)
    largest = max(float(np.abs(a[both]).max(initial=0.0)), _TINY)
    return float(np.abs(a[both] - b[both]).max(initial=0.0)) / largest
