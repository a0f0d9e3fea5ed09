"""
The passes that options ask for beside those of -O or -p: to share the step, to predict gradients, to shard its update,
to run activations again, to convert operands of products, to make them sparse, to run layers by micro-batches, to sum
gradients in buckets, to move data between devices in chunks.

    with_asked(["autodiff", "lower-to-npu"], Options(devices=4, recompute="full"), machine)
    # ["parallelize{…}", "autodiff", "recompute{policy=every-k}", "lower-to-npu"]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, TypeVar

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.numbers import integer_of, real_of
from npuc.compiler.core.options import BEST_BUCKETS, CHUNK_POLICIES, ZERO_STAGES
from npuc.compiler.core.stages import remark
from npuc.compiler.driver.devices import PARALLELIZE, parallel_passes
from npuc.compiler.driver.levels.fused import FUSE_LAYERS, asks_groups, behind_schedules
from npuc.compiler.driver.levels.preset import AUTODIFF, LOWER
from npuc.compiler.driver.passes import names_in, passes_by_hand

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.compiler.core.options import Densities, Options
    from npuc.hardware import Hardware

OptionsT = TypeVar("OptionsT", bound="Options")
RECOMPUTE, SHARD_UPDATES, QUANTIZE, PREDICT_GRADIENTS = "recompute", "shard-updates", "quantize", "predict-gradients"
SPARSIFY = "sparsify"
BUCKET_GRADIENTS, SCHEDULE_COLLECTIVES = "bucket-gradients", "schedule-collectives"
ASKED = (
    PARALLELIZE,
    PREDICT_GRADIENTS,
    SHARD_UPDATES,
    RECOMPUTE,
    QUANTIZE,
    SPARSIFY,
    FUSE_LAYERS,
    BUCKET_GRADIENTS,
    SCHEDULE_COLLECTIVES,
)
"""What options ask for, and so is told of, as what is named."""
STATED = "\n"
"""What stands for `--density` where the program says densities and no option does; no rule is it."""
_GIB = 1024
"""MiB in one."""


def recompute_pass(text: str) -> str | None:
    """The pass that `--recompute` asks for; None: nothing is run again. Raises `UsageError` for another form."""
    name, equals, value = text.partition("=")
    if not equals and name in ("none", "full"):
        return None if name == "none" else f"{RECOMPUTE}{{policy=every-k}}"
    if not equals and name == "reversible":
        return f"{RECOMPUTE}{{policy=reversible}}"
    if equals and name == "every":
        layers = integer_of(value)
        if layers is not None and layers > 0:
            return f"{RECOMPUTE}{{policy=every-k k={layers}}}"
    if equals and name == "optimal":
        size = real_of(value)
        if size is not None and 0 < size < inf:
            return f"{RECOMPUTE}{{policy=optimal budget_mib={float(size * _GIB):f}}}"
    raise UsageError(
        f"--recompute {text}: expected none, full, reversible, every=K (layers) or optimal=GIB (memory of all tensors)",
        hint="for example --recompute every=2",
    )


def quantize_pass(text: str | None) -> str | None:
    """The passes that `--quantize` asks for; None: operands stay as they are. Raises `UsageError` for another form."""
    if text in (None, "none"):
        return None
    return ",".join(_one_format(one.strip(), text) for one in text.split(";"))


def _one_format(part: str, text: str) -> str:
    """The pass of `FORMAT` or `OPERANDS:FORMAT`, a part of what `--quantize` was given."""
    from npuc.compiler.transforms.quantize import QuantizePass

    of, colon, named = part.rpartition(":")
    name, equals, value = named.partition("=")
    try:
        steps = integer_of(value) if equals else 0
        if steps is None:
            raise ValueError(f"steps is '{value}', expected a number")
        return str(QuantizePass(name, of=of if colon else "all", steps=steps))
    except ValueError as error:
        raise UsageError(
            f"--quantize {text}: {error}",
            hint="for example bfp-low, fast=1000, 'bfp<4, 16, 3>', 'weights:int8; activations:f8e4m3'",
        ) from None


def density_text(density: Densities) -> str | None:
    """What `--density` was given as rules of the pass `sparsify`: keys with values, texts, or one; None: nothing."""
    if density is None or isinstance(density, str):
        return density
    if isinstance(density, Mapping):
        return "; ".join(f"{key}={value}" for key, value in density.items()) or None
    return "; ".join(density) if density else None


def density_pass(density: Densities) -> str | None:
    """The pass that `--density` asks for; None: operands are dense. Raises `UsageError` for what is no density."""
    text = density_text(density)
    if text is None:
        return None
    if text == STATED:
        return SPARSIFY
    from npuc.compiler.transforms.sparsify.rules import EXAMPLE, parse_rules

    try:
        parse_rules(text)
    except ValueError as error:
        raise UsageError(f"--density {text}: {error}", hint=EXAMPLE) from None
    return f'{SPARSIFY}{{rules="{text}"}}'


def products_pass(options: Options) -> str | None:
    """The passes that change operands of products: formats first, so that what is kept is stored in them."""
    found = [one for one in (quantize_pass(options.quantize), density_pass(options.density)) if one is not None]
    return ",".join(found) or None


def stating_densities(options: OptionsT, module: ModuleOp) -> OptionsT:
    """Options with the densities that a program says of its parameters, where no option or pass says any."""
    lowers = options.pipeline is None or LOWER in names_in(options.pipeline)
    asked = options.density is not None or SPARSIFY in passes_by_hand(options)
    if asked or not states_densities(module):
        return options
    if not lowers:
        _remark_dense(module)
        return options
    return replace(options, density=STATED)


def _remark_dense(module: ModuleOp) -> None:
    """Tell that densities of a program have no effect, where none of its products has a sparse operand yet."""
    from npuc.dialects.npu import ContractOp
    from npuc.dialects.npu.widths import sparse_factor

    contracts = [op for op in module.walk() if isinstance(op, ContractOp)]
    if not any(sparse_factor(value) for op in contracts for value in op.operands):
        missing = SPARSIFY if contracts else f"{LOWER},{SPARSIFY}"
        remark(f"the densities that the program says have no effect: no pass of -p applies them; {missing} would")


def states_densities(module: ModuleOp) -> bool:
    """Whether a program says a density of one of its parameters."""
    from npuc.dialects.train.signature import DENSITY, argument_entries, training_functions

    return any(DENSITY in entries for func in training_functions(module) for entries in argument_entries(func))


def method_pass(method: str) -> str:
    """The pass that `--method` asks for, in place of autodiff."""
    phase, _, ideal = method.partition("-")
    return f"{PREDICT_GRADIENTS}{{phase={phase}{' predictor=ideal' if ideal else ''}}}"


def collectives_pass(policy: str, chunks: int | None) -> str | None:
    """The pass that `--collectives` and `--chunks` ask for; None: all moves whole. Raises `UsageError` for a number."""
    if policy == CHUNK_POLICIES[0] and chunks in (None, 1):
        return None
    from npuc.compiler.transforms.schedule_collectives import ScheduleCollectivesPass

    try:
        ScheduleCollectivesPass(policy, chunks)
    except ValueError as error:
        given = "" if chunks is None else f" --chunks {chunks}"
        raise UsageError(f"--collectives {policy}{given}: {error}") from None
    return f"{SCHEDULE_COLLECTIVES}{{policy={policy}{'' if chunks is None else f' chunks={chunks}'}}}"


def buckets_pass(mib: object) -> str | None:
    """The pass that `--bucket-mib` asks for; None: each gradient is summed alone. Raises `UsageError` for a size."""
    if mib is None:
        return None
    if isinstance(mib, str) and mib == BEST_BUCKETS:
        return f"{BUCKET_GRADIENTS}{{mib={BEST_BUCKETS}}}"
    if isinstance(mib, bool) or not isinstance(mib, int | float):
        raise UsageError(f"--bucket-mib {mib}: expected a number of MiB, or {BEST_BUCKETS}")
    from npuc.compiler.transforms.bucket_gradients import BucketGradientsPass

    try:
        return str(BucketGradientsPass(mib))
    except ValueError as error:
        raise UsageError(f"--bucket-mib {mib}: {error}") from None


def orders_collectives(options: Options) -> bool:
    """Whether a pass gathers or orders collectives, by the network of the machine."""
    passes = (buckets_pass(options.bucket_mib), collectives_pass(options.collectives, options.chunks))
    asked = options.devices > 1 and any(step is not None for step in passes)
    return asked or not {BUCKET_GRADIENTS, SCHEDULE_COLLECTIVES}.isdisjoint(passes_by_hand(options))


def with_asked(steps: Sequence[str], options: Options, machine: Hardware) -> list[str]:
    """Passes by their texts, with those that options ask for where they belong."""
    return with_backward(with_plan(steps, options, machine), options)


def with_plan(steps: Sequence[str], options: Options, machine: Hardware) -> list[str]:
    """Passes with the one that shares the step, in front of the first that needs the step to be shared."""
    names = _names(steps)
    place = next((n for n, name in enumerate(names) if name in (AUTODIFF, RECOMPUTE, SHARD_UPDATES, LOWER)), len(names))
    return [*steps[:place], *parallel_passes(options, machine), *steps[place:]]


def with_backward(steps: Sequence[str], options: Options) -> list[str]:
    """Passes with those that work on the whole step, behind the last that makes it whole, and those that follow."""
    return behind_schedules(_with_products(steps, options), options)


def _with_products(steps: Sequence[str], options: Options) -> list[str]:
    """Passes with those that work on the whole step, or at the end, and those of operands of products."""
    again = None if options.recompute is None else recompute_pass(options.recompute)
    added = [] if again is None else [again]
    if options.devices > 1 and options.zero in ZERO_STAGES[1:-1]:
        added.insert(0, f"{SHARD_UPDATES}{{stage={options.zero}}}")
    if options.method is not None:
        place = next((n for n, name in enumerate(_names(steps)) if name in (AUTODIFF, LOWER)), len(steps))
        steps = [*steps[:place], method_pass(options.method), *steps[place:]]
    names = _names(steps)
    below = names.index(LOWER) if LOWER in names else len(names)
    makers = (AUTODIFF, PARALLELIZE, PREDICT_GRADIENTS)
    whole = max((n + 1 for n, name in enumerate(names) if name in makers), default=below)
    moved = (buckets_pass(options.bucket_mib), collectives_pass(options.collectives, options.chunks))
    last = [step for step in moved if step is not None] if options.devices > 1 else []
    formats = products_pass(options)
    if formats is None:
        return [*steps[:whole], *added, *steps[whole:], *last]
    if LOWER not in names:
        raise UsageError(
            f"{_said(options)}: no pass {LOWER} runs, which makes the products whose operands it converts",
            hint=f"name {LOWER} in -p, or leave -p out",
        )
    behind = names.index(LOWER) + 1
    return [*steps[:whole], *added, *steps[whole:behind], formats, *steps[behind:], *last]


def asks_passes(options: Options) -> bool:
    """Whether options ask for passes beside those of -O or -p."""
    again = options.recompute is not None and recompute_pass(options.recompute) is not None
    if options.devices > 1 or again or options.method is not None or asks_groups(options):
        return True
    return products_pass(options) is not None


def _said(options: Options) -> str:
    """The option that changes operands of products, as it is given."""
    if options.quantize not in (None, "none"):
        return f"--quantize {options.quantize}"
    return f"--density {'of the program' if options.density == STATED else density_text(options.density)}"


def _names(steps: Sequence[str]) -> list[str]:
    return [step.partition("{")[0] for step in steps]


def check_backward(module: ModuleOp, options: Options) -> None:
    """
    Raise `UsageError` where activations are to be run again in a program that will have no backward pass, or gradients
    predicted in one that is not trained.
    """
    from npuc.compiler.driver.levels.preset import state_of

    if options.method is not None and not (state := state_of(module)).has_loss and not state.is_step:
        raise UsageError(
            f"--method {options.method} does not apply: the program has no loss, so that nothing is trained",
            hint="leave out --method, or add a loss to the network",
        )
    if options.recompute is None or recompute_pass(options.recompute) is None:
        return
    state = state_of(module)
    if options.inference or not (state.has_loss or state.is_step):
        raise UsageError(
            f"--recompute {options.recompute} does not apply: there is no backward pass in which to run anything again",
            hint="leave out --recompute, or add a loss to the network",
        )
