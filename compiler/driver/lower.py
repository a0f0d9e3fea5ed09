"""
Choosing and running the passes between a program and a backend, and showing what each did.

Where `-p` says nothing, the passes of `-O` that the program still needs are run. `--only` drops the other layers as
soon as the whole step exists, so that they are neither scheduled nor scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from npuc.compiler.analysis.machine.facts import machine_of
from npuc.compiler.analysis.memory.liveness import largest_at_peak
from npuc.compiler.analysis.memory.peak import Peak, peak_of_module
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.core.selection import keep_layers, patterns_of
from npuc.compiler.core.stages import remarks_to, tell
from npuc.compiler.core.units import MIB
from npuc.compiler.core.verify import SourceTexts, location_of
from npuc.compiler.driver.costing.fused_levels import lower_fused
from npuc.compiler.driver.devices import (
    PARALLELIZE,
    check_homogeneous,
    check_network,
    tell_network,
    tell_units,
    wants_best,
    without_loss,
)
from npuc.compiler.driver.levels.asked import ASKED, asks_passes, check_backward, stating_densities, with_asked
from npuc.compiler.driver.levels.canonical import canonical_passes, is_dearer
from npuc.compiler.driver.levels.fused import check_machine, is_fusing
from npuc.compiler.driver.levels.needed import needed_passes
from npuc.compiler.driver.levels.placement import placed
from npuc.compiler.driver.levels.preset import AUTODIFF, LOWER, SCHEDULE, state_of, with_goal
from npuc.compiler.driver.mapping_file import apply_mapping_file, is_mapping_file
from npuc.compiler.driver.meaning import unused_goals
from npuc.compiler.driver.passes import (
    available_passes,
    own_passes,
    passes_by_hand,
    read_pipeline,
    run_pipeline,
    write_pipeline,
)
from npuc.compiler.driver.precision import formats_of_products, is_controlled, precision_of, precision_passes
from npuc.compiler.driver.session import Session
from npuc.compiler.driver.watch.asked import asked_watchers, check_shown
from npuc.compiler.driver.watch.watcher import Watcher, Watchers
from npuc.compiler.transforms.autodiff import whole_step
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.provenance import layer_of
from npuc.frontends.mlir import make_context

if TYPE_CHECKING:
    from npuc.compiler.report import Report
    from npuc.hardware import Hardware

EXACT = "--exact-plan: an integer program solves what the search leaves unproved"
CONTROLLED = (
    "the controller of FAST gives each tensor 2 or 4 bits as it runs, and is priced with 4 everywhere: npuc training "
    "--run prices what it chose"
)
SHOWN = 4
"""So many of the largest tensors a message names."""


@dataclass(frozen=True)
class Lowered:
    """
    The passes that ran, and what is in memory before the one that leaves the `train` level; None: unknown.

    `remarks` are the warnings of the program, whichever backend scores it.
    """

    passes: list[ModulePass]
    peak: Peak | None
    remarks: tuple[str, ...] = ()

    @property
    def precision(self) -> str:
        """The float types that the program was given."""
        return precision_of(self.passes)

    @property
    def products(self) -> str | None:
        """The number formats that operands of matrix products were given."""
        return formats_of_products(self.passes)


def lower(module: ModuleOp, session: Session) -> Lowered:
    """Run the passes that the options ask for, in place. Adds to the session's warnings."""
    chosen = lower_fused(module, session, _lower)
    return _lower(module, session) if chosen is None else chosen


def _lower(module: ModuleOp, session: Session) -> Lowered:
    """`lower` with the passes of the session's level, whatever they cost."""
    options, model = stating_densities(session.options, module), session.model
    machine, told = session.machine, len(session.warnings)
    _check_energies(module, session)
    check_machine(module, options)
    available = own_passes() if options.pipeline is None and not options.load else available_passes(options.load)
    needed = needed_passes(module, session)
    check_backward(module, options)
    preset = placed(with_asked(needed, options, machine), options)
    if options.exact_plan:
        session.note(EXACT)
        tell(f"{EXACT}, which may take minutes")
    passes = read_pipeline(",".join(preset) if options.pipeline is None else options.pipeline, available)
    if options.pipeline is not None and asks_passes(options):
        passes = read_pipeline(",".join(with_asked([str(one) for one in passes], options, machine)), available)
        session.note(f"passes: {write_pipeline(passes)}")
    types = precision_passes(module, passes, machine.get("precision", str), options.precision, session.warnings)
    unfused = ",".join(step for step in preset if not is_fusing(step))
    passes = [*_canonical(module, session, unfused), *types, *passes]
    mappers = _mapping_passes(session)
    tell_network(module, passes, machine)
    tell_units(module, passes, machine)
    if any(p.name == PARALLELIZE for p in passes):
        check_homogeneous(machine)
        check_network(passes, machine)
        if options.inference and not state_of(module).is_step and all(p.name != AUTODIFF for p in passes):
            without_loss(module)  # a plan is of what there will be
        from npuc.compiler.driver.costing.work_times import stamp_times

        stamp_times(module, session, passes, _scored)
    if is_controlled(passes):
        session.warnings.append(CONTROLLED)
    run = _Runner(session, Watchers(_watchers([*passes, *mappers], module, session)), passes)
    run.watch.plan(passes)
    patterns = patterns_of(options.only)
    peak: Peak | None = None
    if patterns and not model.derives_backward:
        whole = _through_autodiff(passes)
        run(module, passes[:whole])
        keep_layers(module, patterns)
        run(module, passes[whole:])
    else:
        above = next((i for i, p in enumerate(passes) if p.name == LOWER), len(passes))
        run(module, passes[:above])
        peak = checked_peak(whole_step(module) if model.derives_backward else module, machine)
        run(module, passes[above:])
    if options.names_passes and session.wants_schedules and state_of(module).unscheduled:
        (schedule,) = read_pipeline(with_goal(SCHEDULE, options.objective, options.tolerance), available)
        session.note("the pass schedule schedules the contractions that the pipeline leaves without a schedule")
        run(module, [schedule])
        passes.append(schedule)
    elif options.pipeline is not None:
        session.warnings.extend(unused_goals(options))
    remarks = tuple(session.warnings[told:])
    passes += _map(module, mappers, run)
    run.watch.finish()
    return Lowered(passes, peak, remarks)


@dataclass(frozen=True)
class _Runner:
    """Runs passes as the options of a session have it; `watch` sees what each did, `all` are those of a program."""

    session: Session
    watch: Watcher
    all: Sequence[ModulePass] = ()
    context: Context = field(default_factory=make_context)

    def __call__(self, module: ModuleOp, passes: Sequence[ModulePass]) -> None:
        """Run passes on a module, in place."""
        for place, step in enumerate(passes):
            if place and wants_best(step):
                self(module, passes[:place])
                self(module, passes[place:])
                return
        if passes and wants_best(passes[0]):
            from npuc.compiler.driver.costing.best_buckets import choose_buckets

            choose_buckets(module, self.session, self.all[self.all.index(passes[0]) + 1 :], _scored)
        session, options = self.session, self.session.options
        told_of = {*ASKED, *passes_by_hand(options)}
        with remarks_to(session.warnings.append):
            each, sources = options.verify_each, session.sources
            run_pipeline(module, passes, self.context, sources, verify_each=each, watch=self.watch, told_of=told_of)


def _canonical(module: ModuleOp, session: Session, passes: str) -> list[ModulePass]:
    """The pass canonicalize, where it comes before the `passes` of -O."""
    if not session.wants_schedules:
        return []
    dearer = partial(is_dearer, session=session, passes=passes, scorer=_scored)
    return canonical_passes(module, session.options, session.model.level, dearer)


def _scored(module: ModuleOp, session: Session) -> Report:
    """The costs of a program, lowered in place for a session."""
    lower(module, session)
    return session.model.costs(module, session.machine)


def map_contractions(module: ModuleOp, session: Session) -> list[ModulePass]:
    """Give the contractions of a lowered program the mappings that a backend wants: the passes that ran."""
    return _map(module, _mapping_passes(session), _Runner(session, Watchers(session.watchers)))


def _map(module: ModuleOp, mappers: list[ModulePass], run: _Runner) -> list[ModulePass]:
    """Give contractions mappings, by a file or by the passes `mappers`: those that ran."""
    warnings, asked = run.session.warnings, run.session.options.mapping
    if not mappers:
        if asked is not None:
            warnings.append(f"the backend '{run.session.model.name}' uses no mappings: {asked} has no effect")
        return []
    contracts = [op for op in module.walk() if isinstance(op, ContractOp)]
    _warn_of_own(contracts, asked, warnings)
    if asked is not None and is_mapping_file(asked):
        apply_mapping_file(module, asked, warnings, write_pipeline(mappers))
    if all(op.mapping_attr is not None for op in contracts):
        return []
    run(module, mappers)
    return mappers


def _mapping_passes(session: Session) -> list[ModulePass]:
    """What gives contractions without a mapping one, for a backend that wants mappings."""
    asked, model = session.options.mapping, session.model
    text = model.mapping_pass(session.machine, None if is_mapping_file(asked) else asked)
    return [] if text is None else read_pipeline(text, own_passes())


def _warn_of_own(contracts: Sequence[ContractOp], asked: str | None, warnings: list[str]) -> None:
    """Warn of a requested mapping that has no effect, since the source has its own; adds to `warnings`."""
    own = list(dict.fromkeys(layer_of(op) for op in contracts if op.mapping_attr is not None))
    if asked is None or not own:
        return
    if all(op.mapping_attr is not None for op in contracts):
        warnings.append(f"all contractions have mappings of their own: {asked} has no effect")
    else:
        whose = f"{own[0]} has" if len(own) == 1 else f"{own[0]} and {len(own) - 1:,} more layers have"
        warnings.append(
            f"{whose} mappings of {'its' if len(own) == 1 else 'their'} own, which {asked} does not replace"
        )


def _through_autodiff(passes: Sequence[ModulePass]) -> int:
    """The number of passes up to and with autodiff: after them the whole step exists."""
    return max((i + 1 for i, p in enumerate(passes) if p.name == AUTODIFF), default=0)


def _check_energies(module: ModuleOp, session: Session) -> None:
    """Raise `UsageError` for an objective whose energies the machine does not say."""
    objective = session.options.objective
    if objective in ("energy", "edp") and session.wants_schedules:
        facts = machine_of(module)
        if facts is not None and facts.energy is None:
            raise UsageError(
                f"--objective {objective} needs energy.mac_pj, energy.spm_pj_per_byte and energy.dram_pj_per_byte",
                hint="add them to the hardware file, or --set energy.mac_pj=N and so on",
            )


def _watchers(passes: Sequence[ModulePass], module: ModuleOp, session: Session) -> list[Watcher]:
    """The watchers of the passes that the options ask for. Raises `UsageError` for a pass that does not run."""
    check_shown(session.options.print_after, passes)
    asked = asked_watchers(session.options, module, session.say, (session.model, session.machine))
    return [*session.watchers, *asked]


def checked_peak(step: ModuleOp, machine: Hardware) -> Peak | None:
    """
    What is in memory at the peak of a step; None where there is no step at the `train` level.

    Raises `CapacityError` for a step that takes more memory than a device has, where the machine says how much.
    """
    float_bytes = machine.get("memory.element_bytes", int)
    peak, capacity = peak_of_module(step, float_bytes), machine.get("dram.capacity_mib", float)
    if capacity is None or peak is None or peak.memory.peak_bytes <= capacity * MIB:
        return peak
    taken = peak.memory.peak_bytes / MIB
    shown = ", ".join(f"{name} {size / MIB:,.1f} MiB" for name, size in largest_at_peak(step, float_bytes, SHOWN))
    raise CapacityError(
        f"the step takes up to {taken:,.1f} MiB, in {peak.memory.layer}; {machine.name} has "
        f"{capacity:,.1f} MiB, {taken - capacity:,.1f} MiB too little; most take {shown}",
        hint="a smaller batch, more --devices (--zero keeps parameters in parts), or --recompute",
    )


def check_budgets(module: ModuleOp, machine: Hardware, sources: SourceTexts) -> None:
    """Raise `CapacityError` for a schedule that promises more SPM than the machine has, where promises count."""
    promises: list[tuple[Operation, int]] = []
    for op in module.walk():
        spm = op.spm if isinstance(op, InterleaveOp) else op.schedule.spm if isinstance(op, ContractOp) else None
        if spm is not None:
            promises.append((op, spm))
    facts = machine_of(module) if promises else None
    if facts is None or facts.policy == "lru":
        return
    for op, promised in promises:
        if promised > facts.spm_bytes:
            location = location_of(op)
            raise CapacityError(
                f"the schedule declares {promised:,} bytes of SPM, {machine.name} has {facts.spm_bytes:,} for one",
                location=location,
                source_line=None if location is None else sources.line(location),
                hint="declare fewer bytes if its blocks take fewer, or use smaller steps or a larger memory.spm_kib",
            )
