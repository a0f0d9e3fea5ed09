"""
Checking passes: run the program before and after each on random data, and name the pass that changed what it computes.

    npuc check samples:lenet -D batch=2 -p "autodiff,lower-to-npu{conv=im2col}"

The data are small integers, so that programs which keep integers must agree to the bit; see
`npuc.compiler.interpreter.compare`. A pass that computes values in another way, within rounding, says how near it stays
(`Approximate`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, IndexType, IntegerType, ModuleOp
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import PassFailedException

from npuc.compiler.core.display.words import LONGEST_LINE, cut
from npuc.compiler.core.errors import CapacityError, CheckError, NpucError
from npuc.compiler.core.options import Only, Say
from npuc.compiler.core.stages import tell
from npuc.compiler.core.verify import verify_module
from npuc.compiler.driver.levels.asked import ASKED
from npuc.compiler.driver.levels.preset import AUTODIFF
from npuc.compiler.driver.passes import passes_by_hand, run_pipeline
from npuc.compiler.driver.read import read_program, refuse_opaque, texts_of
from npuc.compiler.driver.running.check_size import held_bytes, refuse_large
from npuc.compiler.driver.running.data import index_limit
from npuc.compiler.driver.running.lower import passes_for
from npuc.compiler.driver.running.options import RunKeywords, check_goals_used, run_options
from npuc.compiler.driver.watch.asked import asked_watchers, check_shown
from npuc.compiler.driver.watch.cost_trace import work_of
from npuc.compiler.driver.watch.watcher import Watcher, Watchers
from npuc.compiler.interpreter.compare import Comparison, compare, compare_changed, compare_within
from npuc.compiler.interpreter.execute import argument_shape, argument_type, call, the_function
from npuc.compiler.interpreter.numbers import Numbers
from npuc.compiler.interpreter.parameters import initial_value, stacked, unstacked
from npuc.compiler.layers.base import Array
from npuc.dialects.copies import copied
from npuc.dialects.npu.widths import widths_of
from npuc.dialects.provenance import layer_of
from npuc.dialects.train.dropback import DropbackOp
from npuc.dialects.train.signature import ArgumentKind, arguments_of, result_names
from npuc.frontends.mlir import make_context
from npuc.frontends.source import Source

MAC_LIMIT = 20_000_000_000
Results = dict[str, Array]
"""The results of a program by name."""


@runtime_checkable
class Approximate(Protocol):
    """A pass that computes values in another way: `within` is how near they stay, None where they are the same."""

    @property
    def within(self) -> float | None: ...


@dataclass(frozen=True, repr=False)
class PassCheck:
    """
    How the program after a pass compares with the one before: the pass as text, the comparison of what they compute,
    and whether the pass changed the program at all.
    """

    step: str
    comparison: Comparison
    changed: bool = True

    def __str__(self) -> str:
        return f"{self.step}: {self.comparison}" + ("" if self.changed else ", it changed nothing")

    def __repr__(self) -> str:
        return f"<PassCheck {cut(str(self), LONGEST_LINE)}>"


def check_program(
    source: Source,
    keywords: RunKeywords,
    *,
    only: Only = None,
    limit: int = MAC_LIMIT,
    progress: Callable[[PassCheck], None] | None = None,
    say: Say | None = None,
    watchers: tuple[Watcher, ...] = (),
) -> list[PassCheck]:
    """
    Check every pass of a pipeline (by default all of `opt_level` down to the level `npu`), in its order.

    Of a layer table only the layers that `only` names are read; a network is checked whole. Raises `CheckError` that
    names the first pass which does not take the program or breaks it: its verifier, its execution or its values. Raises
    `UsageError` where a run would take more than `limit` multiply-accumulates, or hold more bytes than a tenth of it;
    `CapacityError` where a pass refuses what does not fit.
    """
    options, sources = replace(run_options(keywords), only=only), texts_of(source)
    check_goals_used(options, scheduled=True)
    module = read_program(source, options, sources)
    with sources.quoted():
        refuse_opaque(module)
    passes = passes_for(source, module, options, options.level or "npu")
    check_shown(options.print_after, passes)
    watch = Watchers([*asked_watchers(options, module, say), *watchers])
    watch.plan(passes)
    products = 3 if any(step.name == AUTODIFF for step in passes) else 1
    refuse_large(int(products * work_of(module)["MACs"]), held_bytes(module, passes), limit, source)
    data = random_data(module, options.seed)
    if _regenerates(module):
        # in its first step an update refuses parameters that are not those of its seed, as this data's are not
        data["step"] = np.asarray(1)
    tell("run")
    with sources.quoted():
        before = run_results(module, data)
    done, told_of = list[PassCheck](), {*passes_by_hand(options), *ASKED}
    for step in passes:
        earlier, ran = copied(module), False
        try:
            # what it changed is a part of the outcome
            run_pipeline(module, [step], make_context(), sources, watch=watch, told_of=told_of, tell_unchanged=False)
            ran = True
            verify_module(module, sources, after=step.name)
            _check_layers(step.name, earlier, module)
            tell(f"run after {step.name}")
            after = run_results(module, data)
        except CapacityError:
            # the program is right, and so is a pass that refuses it
            raise
        except NpucError as error:
            raise _named_error(step.name, error, ran=ran) from error
        compared = before, after
        why: str | None = getattr(step, "CHANGES_NUMBERS", None)
        within = step.within if isinstance(step, Approximate) else None
        if within is not None:
            comparison, compared = _within(earlier, module, initial_data(module, data, options.seed), within)
        else:
            comparison = compare(*compared) if why is None else compare_changed(*compared, why)
        if within is None and why is None and not comparison.equal and not comparison.exact:
            comparison, compared = _within_rounding(earlier, module, data, compared)
        outcome = PassCheck(str(step), comparison, changed=not module.is_structurally_equivalent(earlier))
        if progress is not None:
            progress(outcome)
        if not outcome.comparison.equal:
            raise CheckError(
                _difference_text(outcome, *compared),
                hint="npuc compile --print-after shows the program after each pass",
            )
        done.append(outcome)
        before = after
    watch.finish()
    return done


def _within(
    earlier: ModuleOp, module: ModuleOp, data: dict[str, Array], within: float
) -> tuple[Comparison, tuple[Results, Results]]:
    """
    Compare two programs by what the pass between them says of how near it stays, in float64.

    Where data that differ in their last digits move the results by more, differences up to that are tolerated.
    """
    results = run_results(earlier, data), run_results(module, data)
    found = compare_within(*results, within)
    if not found.equal:
        moved = compare(*results, run_results(earlier, nudged(data)))
        found = moved if moved.equal and moved.amplified > within else found
    return found, results


def _within_rounding(
    earlier: ModuleOp, module: ModuleOp, data: dict[str, Array], results: tuple[Results, Results]
) -> tuple[Comparison, tuple[Results, Results]]:
    """
    Compare two programs by how much the first one amplifies rounding; with the results that were compared.

    On integers many values lie where a gradient jumps, such as the 0 of a relu, so that the last digits of the data
    seem to cause much, and differences are tolerated that are none of rounding. So other data must agree, too.
    """
    on_integers = compare(*results, run_results(earlier, nudged(data)))
    if not on_integers.equal:
        return on_integers, results
    other = spread(data)
    others = run_results(earlier, other), run_results(module, other)
    found = compare(*others)
    if not found.equal:
        found = compare(*others, run_results(earlier, nudged(other)))
    return (on_integers, results) if found.equal else (found, others)


def _named_error(step: str, error: NpucError, *, ran: bool) -> CheckError:
    """What a pass did wrong, under its name: it did not take the program, or it broke it; `ran`: it came to an end."""
    reason = error.message.removeprefix(f"{step}: ")
    # Other causes are what it stumbled over, and operations that it made wrong.
    refuses = not ran and (error.__cause__ is None or isinstance(error.__cause__, NpucError | PassFailedException))
    what = "does not take" if refuses else "breaks"
    return CheckError(f"pass '{step}' {what} the program: {reason}", location=error.location, hint=error.hint)


def _check_layers(step: str, before: ModuleOp, after: ModuleOp) -> None:
    """Raise `CheckError` if a pass made operations without a layer in a program where all had one."""
    if _nameless(before):
        return
    lost = _nameless(after)
    if lost:
        raise CheckError(
            f"it made {len(lost)} operations without a layer, the first {lost[0]}",
            hint=f"in '{step}', npuc.dialects.provenance.derive gives an operation the layer and place of another",
        )


def _nameless(module: ModuleOp) -> list[str]:
    named = (
        op for op in module.walk() if op.name.startswith(("train.", "npu.", "dist.")) and not op.has_trait(IsTerminator)
    )
    return [op.name for op in named if not layer_of(op)]


def _difference_text(outcome: PassCheck, before: dict[str, Array], after: dict[str, Array]) -> str:
    name = outcome.comparison.name or ""
    text = f"pass '{outcome.step}' changes the program: {name}"
    if name not in after:
        return f"{text} is no longer computed"
    a, b = np.asarray(before[name], dtype=np.float64), np.asarray(after[name], dtype=np.float64)
    if a.shape != b.shape:
        return f"{text} has shape {list(a.shape)} before and {list(b.shape)} after"
    place = np.unravel_index(np.argmax(np.abs(a - b)), a.shape)
    where = f" at {[int(p) for p in place]}" if place else ""
    return f"{text} is {float(a[place])!r} before and {float(b[place])!r} after{where}"


def run_results(module: ModuleOp, data: dict[str, Array]) -> dict[str, Array]:
    """
    The results of a program on data by name: `loss`, `new NAME`, `gradient NAME`, `output NAME`.

    Every float is computed in float64, so that programs differ by what they compute and not by how they round; of the
    machine's accumulators only integer sums are seen.

    An argument that `data` lacks, such as an optimizer state that a pass has added, is its initial value.
    """
    func = the_function(module)
    arguments = arguments_of(func)
    numbers = Numbers(double=True, accumulator_bits=widths_of(module).accumulator_bits)
    values: list[Array] = []
    data = stacked(func, data, argument_shape, 0)
    for argument in arguments:
        type = argument_type(func, argument)
        value = data.get(argument.name)
        if value is None:
            value = np.full(type.get_shape(), argument.fill or 0.0)
        values.append(numbers.hold(value, type.element_type))
    return unstacked(func, dict(zip(result_names(func), call(module, func, values, numbers), strict=True)))


def random_data(module: ModuleOp, seed: int) -> dict[str, Array]:
    """Small random integers for every argument; labels and indices in range, statistics and states not negative."""
    func = the_function(module)
    random = np.random.default_rng(seed)
    data: dict[str, Array] = {}
    for argument in arguments_of(func):
        type = argument_type(func, argument)
        value = func.body.block.args[argument.index]
        limit = index_limit(value)
        if isinstance(type.element_type, IntegerType | IndexType) or limit is not None:
            data[argument.name] = random.integers(0, limit or 2, type.get_shape())
        else:
            low = 0 if argument.kind in (ArgumentKind.STAT, ArgumentKind.STATE) else -2
            data[argument.name] = random.integers(low, 3, type.get_shape()).astype(np.float64)
    return data


def _regenerates(module: ModuleOp) -> bool:
    """Whether the optimizer draws initial values again, or is to, once autodiff has run."""
    func = the_function(module)
    spec = func.attributes.get("train.optimizer")
    asked = isinstance(spec, DictionaryAttr) and "regenerate" in spec.data
    return asked or any(isinstance(op, DropbackOp) and op.regenerate is not None for op in func.walk())


def initial_data(module: ModuleOp, data: dict[str, Array], seed: int) -> dict[str, Array]:
    """
    Data whose parameters are as at the start of a training, where the program says how they start.

    What a reversible pass computes back is a difference: with branches that are many times as large as what they are
    added to it is rounding alone, whether the pass is right or not.
    """
    func, found = the_function(module), dict(data)
    for argument in arguments_of(func):
        starts = argument.bound is not None or argument.fill is not None
        if argument.kind is ArgumentKind.PARAM and starts and data[argument.name].dtype.kind == "f":
            found[argument.name] = initial_value(argument, data[argument.name].shape, seed)
    return found


def spread(data: dict[str, Array]) -> dict[str, Array]:
    """Data whose floats are up to a quarter larger than the given ones, and no round numbers."""
    random = np.random.default_rng(1)
    return {name: a * random.uniform(1, 1.25, a.shape) if a.dtype.kind == "f" else a for name, a in data.items()}


def nudged(data: dict[str, Array]) -> dict[str, Array]:
    """Data whose floats differ from the given ones by up to 64 units in the last place."""
    random = np.random.default_rng(0)
    factors = {name: 1 + random.uniform(-64, 64, a.shape) * np.finfo(np.float64).eps for name, a in data.items()}
    return {name: a * factors[name] if a.dtype.kind == "f" else a for name, a in data.items()}
