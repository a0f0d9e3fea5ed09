"""
From the keywords of a call to `Options`: what they are checked for, and the form that each then has.

    options = options_of({"objective": "latency", "mesh": "2x2"})     # objective "time", devices 4
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from math import prod
from typing import Any

from npuc.compiler.analysis.mapping.named.templates import template_named
from npuc.compiler.core.arguments import keywords_of, plain
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import (
    CHUNK_POLICIES,
    CONVENTIONS,
    DEFAULT_STRATEGY,
    DEFAULT_TOLERANCE,
    LEVELS,
    MAX_DEVICES,
    METHODS,
    OBJECTIVES,
    PLAN_OBJECTIVES,
    PRECISIONS,
    SHOWN_CHANGES,
    STRATEGIES,
    TABLE_PLACEMENTS,
    ZERO_STAGES,
    CompileKeywords,
    Convention,
    Options,
    Strategy,
    check_tolerance,
    mesh_sizes,
    objective_named,
    zero_stage,
)
from npuc.compiler.driver.devices import PARALLELIZE
from npuc.compiler.driver.levels.asked import (
    BUCKET_GRADIENTS,
    PREDICT_GRADIENTS,
    QUANTIZE,
    RECOMPUTE,
    SCHEDULE_COLLECTIVES,
    SHARD_UPDATES,
    SPARSIFY,
    buckets_pass,
    collectives_pass,
    density_pass,
    quantize_pass,
    recompute_pass,
)
from npuc.compiler.driver.levels.fused import check_asked_groups, fuse_pass
from npuc.compiler.driver.levels.placement import split_placement
from npuc.compiler.driver.mapping_file import is_mapping_file
from npuc.compiler.driver.passes import names_in

# The choices that exist, the default first: keyword, what it is, values.
CHOICES: tuple[tuple[str, str, tuple[object, ...]], ...] = (
    ("opt_level", "optimisation level", (None, *LEVELS)),
    ("precision", "precision", (None, *PRECISIONS)),
    ("print_changed", "form of changes", (None, *SHOWN_CHANGES)),
    ("objective", "objective", OBJECTIVES),
    ("parallel", "strategy of parallelism", (None, *STRATEGIES)),
    ("convention", "convention", CONVENTIONS),
    ("plan_objective", "objective of a plan", PLAN_OBJECTIVES),
    ("zero", "stage of ZeRO", ZERO_STAGES),
    ("tables", "placement of tables", (None, *TABLE_PLACEMENTS)),
    ("collectives", "policy of collectives", CHUNK_POLICIES),
    ("method", "method", (None, *METHODS)),
)


_ONE_OF_THEM = "leave out one of them"
# How a step is shared, which says nothing of one device: keyword and default.
PLAN_OPTIONS: Mapping[str, object] = {
    "parallel": None,
    "convention": CONVENTIONS[0],
    "plan_objective": PLAN_OBJECTIVES[0],
    "exact_plan": False,
    "zero": 0,
    "tables": None,
    "collectives": CHUNK_POLICIES[0],
    "chunks": None,
    "bucket_mib": None,
}


def options_of(keywords: CompileKeywords) -> Options:
    """The options that the keywords of a compilation mean. Raises as `check_options` does."""
    return Options(**fields_of(check_options(keywords)))


def fields_of(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords as the fields of `Options`, or of a dataclass with more of them."""
    fields = dict(keywords)
    fields["defines"] = plain_defines(fields.get("defines"))
    fields["overrides"] = dict(fields.get("overrides") or {})
    for name in ("load", "before", "after"):
        fields[name] = tuple(fields.get(name) or ())
    for name in ("loss", "freeze", "result"):
        value = fields.get(name)
        fields[name] = (value,) if isinstance(value, str) else tuple(value or ())
    if fields.get("mapping") is not None:
        fields["mapping"] = os.fspath(fields["mapping"])
    if fields.get("opaque_costs") is not None:
        fields["opaque_costs"] = os.fspath(fields["opaque_costs"])
    fields["zero"] = zero_stage(fields.get("zero"))
    if "objective" in fields:
        fields["objective"] = objective_named(fields["objective"])
    if fields.get("mesh") is not None:
        fields["devices"] = prod(mesh_sizes(fields["mesh"]))
    return fields


def plain_defines(defines: Mapping[str, Any] | None) -> dict[str, Any]:
    """Network parameters with numpy's numbers as Python's."""
    return {plain(name): plain(value) for name, value in (defines or {}).items()}


def check_options(options: CompileKeywords) -> CompileKeywords:
    """
    The options, with numbers of numpy's as Python's.

    Raises `TypeError` for a keyword that does not exist or a value of a wrong type, `UsageError` for a choice that
    does not exist.
    """
    options = keywords_of(options, CompileKeywords)
    check_choices(options)
    check_passes(Options(**fields_of(options)))
    _check_goals(options)
    mapping = options.get("mapping")
    if mapping is not None and not is_mapping_file(os.fspath(mapping)):
        template_named(os.fspath(mapping))
    return options


def check_choices(options: Mapping[str, Any]) -> None:
    """Raise `UsageError` for a choice that does not exist, of a compilation or of a run, and for unused options."""
    for name, label, known in CHOICES:
        value = options.get(name, known[0])
        if value not in known:
            shown = ", ".join(str(choice) for choice in known if choice is not None) or "none"
            raise UsageError(f"unknown {label} {value!r}", hint=f"known: {shown}")
    if "tolerance" in options:
        check_tolerance_given(options["tolerance"])
    if options.get("recompute") is not None:
        recompute_pass(options["recompute"])
    quantize_pass(options.get("quantize"))
    density_pass(options.get("density"))
    fuse_pass(options.get("fuse_layers"))
    collectives_pass(options.get("collectives", CHUNK_POLICIES[0]), options.get("chunks"))
    buckets_pass(options.get("bucket_mib"))
    _check_devices(options)
    _check_asked(options)
    _check_method(options)


def check_tolerance_given(value: object) -> None:
    """Raise `UsageError` for a keyword `tolerance` that is none."""
    try:
        check_tolerance(value)
    except ValueError as e:
        raise UsageError(f"--tolerance: {e}", hint="0.005 lets a schedule cost 0.5 % more than the least") from None


def _check_goals(options: CompileKeywords) -> None:
    """Raise `UsageError` for options of the pass `schedule` where `-p` names it, with options of its own."""
    pipeline = options.get("pipeline")
    if pipeline is None or re.search(r"\bschedule\b", pipeline) is None:
        return
    for name, default in (("objective", OBJECTIVES[0]), ("tolerance", DEFAULT_TOLERANCE)):
        value = options.get(name, default)
        if name == "objective":
            value = objective_named(str(value))
        if value != default:
            raise UsageError(
                f"--{name} {value} does not apply with -p, whose pass schedule has an option for it",
                hint=f'-p "…,schedule{{{name}={value}}}"',
            )


def _check_devices(options: Mapping[str, Any]) -> None:
    """Raise `UsageError` for devices that no tree or mesh has, or for what goes unused."""
    devices, mesh = options.get("devices", 1), options.get("mesh")
    if mesh is not None:
        try:
            count = prod(mesh_sizes(mesh))
        except ValueError as error:
            raise UsageError(f"--mesh: {error}", hint="for example --mesh 4x2, four groups of two devices") from None
        if devices not in (1, count):
            raise UsageError(f"--devices {devices}: --mesh {mesh} has {count:,} devices", hint="leave out --devices")
        devices = count
    elif isinstance(devices, bool) or devices < 1 or devices & (devices - 1):
        hint = "2, 4, 8, 16 … are split by halves; other numbers need their levels, as in --mesh 3x2"
        raise UsageError(f"--devices {devices}: expected a power of two", hint=hint)
    if devices > MAX_DEVICES:
        raise UsageError(f"--devices {devices:,}: expected up to {MAX_DEVICES:,}")
    for name, default in PLAN_OPTIONS.items() if devices == 1 else ():
        value = options.get(name, default)
        if value != default:
            raise needs_devices(name, value)
    if devices > 1 and options.get("exact_plan") and has_one_plan(options):
        strategy = options.get("parallel") or DEFAULT_STRATEGY
        hint = "leave out --exact-plan, or --parallel joint"
        raise UsageError(f"--exact-plan does not apply with --parallel {strategy}, which has one plan", hint=hint)


def _check_asked(options: Mapping[str, Any]) -> None:
    """Raise `UsageError` for keywords that ask for a pass that -p has, or for one of the backward pass without one."""
    named = names_in(options.get("pipeline") or "")
    shares = options.get("devices", 1) != 1 or options.get("mesh") is not None
    again, stage, method = options.get("recompute"), zero_stage(options.get("zero")), options.get("method")
    for option, asked, step in (
        ("--devices", shares, PARALLELIZE),
        ("--recompute", again is not None, RECOMPUTE),
        ("--quantize", options.get("quantize") is not None, QUANTIZE),
        ("--density", options.get("density") is not None, SPARSIFY),
        ("--method", method is not None, PREDICT_GRADIENTS),
        ("--zero", shares and stage in ZERO_STAGES[1:-1], SHARD_UPDATES),
        ("--collectives", options.get("collectives", CHUNK_POLICIES[0]) != CHUNK_POLICIES[0], SCHEDULE_COLLECTIVES),
        ("--chunks", options.get("chunks") is not None, SCHEDULE_COLLECTIVES),
        ("--bucket-mib", options.get("bucket_mib") is not None, BUCKET_GRADIENTS),
    ):
        if asked and step in named:
            raise UsageError(f"{option} and the pass {step} of -p say the same", hint=_ONE_OF_THEM)
    if options.get("plan_objective") == "memory" and stage in ZERO_STAGES[1:-1]:
        raise UsageError(
            f"--plan-objective memory does not apply with --zero={stage}: plans know the memory of stages 0 and 3",
            hint="leave out one of them, or --zero=3",
        )
    if again is not None and recompute_pass(again) is not None and options.get("inference"):
        raise UsageError(
            f"--recompute {again} does not apply with --inference: there is no backward pass",
            hint=_ONE_OF_THEM,
        )


def _check_method(options: Mapping[str, Any]) -> None:
    """Raise `UsageError` for options beside which a step with predicted gradients means nothing."""
    method, again = options.get("method"), options.get("recompute")
    if method is None:
        return
    if options.get("inference"):
        raise UsageError(f"--method {method} does not apply with --inference: nothing is trained", hint=_ONE_OF_THEM)
    if options.get("devices", 1) != 1 or options.get("mesh") is not None:
        raise UsageError(f"--method {method} does not apply to several devices: a predictor is of one")
    if method != METHODS[0] and again is not None and recompute_pass(again) is not None:
        raise UsageError(
            f"--recompute {again} does not apply with --method {method}: there is no backward pass", hint=_ONE_OF_THEM
        )


def has_one_plan(options: Mapping[str, Any]) -> bool:
    """Whether the strategy of several devices leaves no choice, so that there is nothing to prove."""
    from npuc.compiler.analysis.sharding.reference.strategies import rule_of

    strategies: dict[str, Strategy] = {known: known for known in STRATEGIES}
    conventions: dict[str, Convention] = {known: known for known in CONVENTIONS}
    strategy = strategies.get(options.get("parallel") or DEFAULT_STRATEGY, DEFAULT_STRATEGY)
    convention = conventions.get(options.get("convention", CONVENTIONS[0]), CONVENTIONS[0])
    return rule_of(strategy, convention).has_one_plan


def check_passes(options: Options, *, leveled: bool = False) -> None:
    """
    Raise `UsageError` for what goes unused beside -p, or without it; `leveled`: passes of -O run after those of -p.
    """
    pipeline, level = options.pipeline, options.opt_level
    if pipeline is not None and level is not None and not leveled:
        raise UsageError(f"-O{level} does not apply with -p, which replaces its passes", hint="leave out -O or -p")
    placements = {"before": options.before, "after": options.after}
    for name, texts in placements.items():
        for text in texts:
            anchor, passes = split_placement(name, text)
            if pipeline is not None:
                raise UsageError(
                    f"--{name} {text} does not apply with -p, which names all passes",
                    hint=f"write {passes} into -p, {name} {anchor}",
                )
    if options.load and pipeline is None and not any(placements.values()):
        raise UsageError(
            "--load needs -p, --before or --after, which name the passes that it loads",
            hint="--before schedule=own-pass, or -p with all passes",
        )
    check_asked_groups(options)


def needs_devices(name: str, value: object) -> UsageError:
    """The error of an option of `PLAN_OPTIONS` where there is one device."""
    bare = value is True or (name == "zero" and value == ZERO_STAGES[-1])
    text = f"{value:g}" if isinstance(value, float) else str(value)
    shown = f"--{name.replace('_', '-')}" + ("" if bare else f"{'=' if name == 'zero' else ' '}{text}")
    return UsageError(f"{shown} needs --devices N", hint="--devices 16")
