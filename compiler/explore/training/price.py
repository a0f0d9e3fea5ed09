"""What a training costs: each program once on a backend, and the sum over the steps of its phases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.func import FuncOp

from npuc.backends.registry import get_backend
from npuc.compiler.analysis.sharding.samples import samples_of
from npuc.compiler.analysis.sparsity.products import counted_products
from npuc.compiler.core.errors import UsageError
from npuc.compiler.driver.compile import compile_program
from npuc.compiler.driver.machine import machine_for
from npuc.compiler.driver.options import options_of
from npuc.compiler.explore.training.phases import STEP, Phase, Training, steps_by_program, steps_per_epoch
from npuc.compiler.explore.training.result import PhaseCost, ProgramCost, TrainingCost, TrainingResult, total
from npuc.dialects.distributed.mesh import mesh_of
from npuc.frontends.source import Source, open_source

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords, Say
    from npuc.hardware import Hardware

PRICE = "cost.usd_per_hour"
MERGED = ("defines", "overrides")
"""Keywords of which a program replaces single entries."""


@dataclass(frozen=True)
class _Priced:
    cost: ProgramCost
    devices: int
    machine: Hardware
    network: str


@dataclass
class Pricing:
    """Prices the programs of a source on a backend, those that differ in nothing once; `say` gets warnings."""

    source: Source
    backend: str
    options: CompileKeywords
    say: Say | None = None
    done: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self._known: dict[str, _Priced] = {}
        asked = options_of(self.options)
        self._price = machine_for(get_backend(self.backend), asked, self.source.format).get(PRICE, float)
        overrides = dict(asked.overrides)
        for key in (PRICE, PRICE.partition(".")[0]):  # no backend reads it, so that it would be said to have no effect
            overrides.pop(key, None)
        self.options = {**self.options, "overrides": overrides}

    def result(self, trainings: Sequence[Training]) -> TrainingResult:
        """
        The costs of trainings.

        Raises `UsageError` for epochs whose steps are not known and on a machine where a step takes no seconds, and
        what compilations raise.
        """
        costs = tuple(map(self._training, trainings))
        plain = self._program(STEP, {})
        hardware = str(plain.machine.get("name") or "")
        return TrainingResult(plain.network, self.source.shown, hardware, self.backend, costs)

    def _training(self, training: Training) -> TrainingCost:
        plain = self._program(STEP, {})
        own = {one.name: one for one in training.programs}
        priced = {STEP: plain}
        for name in training.used:
            priced[name] = self._program(name, own[name].options, own[name].source) if name in own else plain
        programs = {name: one.cost for name, one in priced.items()}
        for name, one in priced.items():
            if one.devices != plain.devices:
                raise UsageError(
                    f"{training.name}: program '{name}' is for {one.devices:,} devices, '{STEP}' for {plain.devices:,}",
                    hint="a training has one number of devices: --devices",
                )
        first = training.phases[0]
        return TrainingCost(
            training.name,
            first.unit,
            tuple(programs[name] for name in training.used),
            tuple(_phase(training, one, programs) for one in training.phases),
            sum(sum(_steps(training, one, (STEP,), programs).values()) for one in training.phases) * plain.cost.seconds,
            plain.devices,
            self._price,
        )

    def _program(self, name: str, own: Mapping[str, Any], source: str | None = None) -> _Priced:
        options = program_options(self.options, own)
        key = repr((source, sorted((one, repr(value)) for one, value in options.items())))
        if key not in self._known:
            opened = self.source if source is None else open_source(source)
            self._known[key] = self._compiled(name, opened, cast("CompileKeywords", options))
            self.done()
        found = self._known[key]
        cost = found.cost
        return _Priced(
            ProgramCost(
                name, cost.seconds, cost.energy_j, cost.dram_bytes, cost.peak_bytes, cost.samples, cost.products
            ),
            found.devices,
            found.machine,
            found.network,
        )

    def _compiled(self, name: str, source: Source, options: CompileKeywords) -> _Priced:
        say = None if self.say is None else _named(name, self.say)
        made = compile_program(source, [self.backend], options, say, costs_alone=True)
        (report,), (machine,), (module,) = made.reports, made.machines, made.modules
        totals = report.totals
        if totals.seconds is None:
            raise UsageError(f"{machine.name} has no clock: a step takes no seconds", hint="--set clock_mhz=1000")
        func = next(op for op in module.ops if isinstance(op, FuncOp))
        mesh = mesh_of(func)
        devices = 1 if mesh is None else mesh.devices
        read, written = totals.dram_read_bytes, totals.dram_write_bytes
        cost = ProgramCost(
            name,
            totals.seconds,
            None if totals.energy_j is None else totals.energy_j * devices,
            None if read is None or written is None else (read + written) * devices,
            totals.peak_bytes,
            0 if source.frontend.lists_layers else samples_of(func),
            counted_products(module.walk()),
        )
        return _Priced(cost, devices, machine, report.network or name)


def program_options(call: CompileKeywords, own: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a program: those of the call with its own."""
    options: dict[str, Any] = {**call, **own}
    for key in MERGED:
        options[key] = {**(call.get(key) or {}), **own.get(key, {})}
    return options


def _named(name: str, say: Say) -> Say:
    """What says that a text is about a program, other than that of the call."""
    return say if name == STEP else lambda text: say(f"program {name}: {text}")


def _steps(
    training: Training, phase: Phase, names: Sequence[str], programs: Mapping[str, ProgramCost]
) -> dict[str, int]:
    """The steps of each program in a phase that runs these."""
    mix = phase.mix if names != (STEP,) else {STEP: 1}
    if phase.unit == "steps":
        return steps_by_program(mix, phase.length)
    samples = [programs[name].samples for name in names]
    epoch = steps_per_epoch(training, samples)
    if epoch is None:
        if not all(samples):
            raise UsageError(
                f"{training.name}: the network says no batch, so that an epoch of "
                f"{training.samples_per_epoch:,} samples has no number of steps",
                hint="steps_per_epoch in its place",
            )
        batches = ", ".join(f"'{name}' takes {programs[name].samples:,}" for name in names)
        raise UsageError(
            f"{training.name}: the programs of phase '{phase.name}' differ in the samples of a step: {batches}",
            hint="steps_per_epoch in place of samples_per_epoch, or phases in steps",
        )
    return steps_by_program(mix, phase.length * epoch)


def _phase(training: Training, phase: Phase, programs: Mapping[str, ProgramCost]) -> PhaseCost:
    steps = _steps(training, phase, tuple(phase.mix), programs)
    moved = total(_times(count, programs[name].dram_bytes) for name, count in steps.items())
    return PhaseCost(
        phase.name,
        phase.first,
        phase.end,
        phase.mix,
        steps,
        sum(count * programs[name].seconds for name, count in steps.items()),
        total(_times(count, programs[name].energy_j) for name, count in steps.items()),
        None if moved is None else sum(count * (programs[name].dram_bytes or 0) for name, count in steps.items()),
    )


def _times(count: int, value: float | None) -> float | None:
    return None if value is None else count * value
