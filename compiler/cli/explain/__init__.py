"""`npuc explain`: where the time of a step goes, and that of one layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from npuc.compiler.cli.explain.asked import OfLayer, OfNetwork
from npuc.compiler.cli.explain.collective import show_collective
from npuc.compiler.cli.explain.costliest import (
    check_costs_alone,
    check_only_of_a_layer,
    check_only_of_networks,
    explain_network,
)
from npuc.compiler.cli.explain.layer import explain_layer, layer_picture
from npuc.compiler.cli.explain.plan import ROWS, check_needless, check_unused, show_plan
from npuc.compiler.cli.explain.reference import Names, check_alone, show_reference
from npuc.compiler.cli.groups import Takes, collected, expanded
from npuc.compiler.cli.options import Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.plot.target import picture_target
from npuc.compiler.cli.shared import Verb
from npuc.compiler.cli.verbs.absent import without
from npuc.compiler.cli.verbs.results import check_one_on_stdout
from npuc.compiler.cli.watching import watching
from npuc.compiler.core.errors import UsageError

if TYPE_CHECKING:
    from npuc.compiler.core.options import CompileKeywords


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("explain")(expanded(command))


def command(
    program: Annotated[Program, Takes(default={"source": ""})],
    machine: Annotated[
        Machine,
        Takes(help={"mapping": "Mapping for -b maestro."}, metavar={"mapping": "NAME|FILE"}),
    ],
    optimisation: Optimisation,
    devices: Devices,
    output: Annotated[
        Output,
        Takes(
            without=without("explain", Output),
            help={
                "json": "Write what is explained as JSON.",
                "plot": "Draw the layer's time: .svg, .png or .pdf.",
            },
        ),
    ],
    names: Names,
    of_layer: OfLayer,
    of_network: OfNetwork,
    layer: Annotated[str | None, typer.Argument(help="Layer: a name, a glob, or a number (#3 is the fourth).")] = None,
    backend: Annotated[
        str | None,
        typer.Option(
            "-b", "--backend", metavar="NAME", help="Cost model (npuc list backends); with --devices, for one of them."
        ),
    ] = None,
    rows: Annotated[
        str | None, typer.Option("--rows", metavar="|".join(ROWS), help="Rows of the plan's table.")
    ] = None,
) -> None:
    """
    Explain where the time goes. Of a network: the costliest layers, what limits each, and what changes gain; of a
    LAYER: its schedule, traffic, stalls and a picture; with --devices, what a plan moves between devices; with --op,
    --pass, --pattern, --layer, --key, --report or --term, what a name means.
    """
    asked = names.asked()
    given = _Given(program, machine, optimisation, devices, output, of_layer, of_network, layer, backend, rows)
    with Verb(output.debug):
        if asked:
            _explain_name(asked, given)
            return
        if not program.source:
            raise UsageError("missing argument SOURCE", hint="npuc explain samples:mlp fc1, or --op npu.contract")
        of_layer.check_phase()
        if of_network.collective is not None:
            _explain_collective(given, of_network.collective)
        elif given.is_shared and backend is None:
            _explain_plan(given)
        else:
            _explain_costs(given)


@dataclass(frozen=True)
class _Given:
    """The options of the verb."""

    program: Program
    machine: Machine
    optimisation: Optimisation
    devices: Devices
    output: Output
    of_layer: OfLayer
    of_network: OfNetwork
    layer: str | None
    backend: str | None
    rows: str | None

    @property
    def is_shared(self) -> bool:
        """Whether several devices share the step."""
        return (self.devices.devices or 1) > 1 or self.devices.mesh is not None

    @property
    def about_layer(self) -> dict[str, object]:
        """What is about one layer."""
        own = self.of_layer
        return {
            "--phase": own.phase,
            "--plot": self.output.plot,
            "--svg": own.svg,
            "--view": own.view,
            "--plot-as": self.output.plot_as,
        }


def _explain_name(asked: dict[str, str], given: _Given) -> None:
    """What a name means."""
    own = {"SOURCE": given.program.source, "LAYER": given.layer, "-b": given.backend, "--rows": given.rows}
    own |= {name: None if value is None else str(value) for name, value in given.about_layer.items()}
    own |= {name: str(value) for name, value in given.of_network.given().items()}
    check_alone(asked, own, given.program, given.machine, given.optimisation, given.devices)
    show_reference(asked, given.optimisation.load or [], given.output.json)


def _explain_plan(given: _Given) -> None:
    """What a plan for several devices moves between them."""
    optimisation = given.optimisation
    shared = given.devices.shared()
    check_costs_alone(given.of_network.given())
    more = {"-O": optimisation.opt_level, "--only": given.program.only, "--mapping": given.machine.mapping}
    passes = {k: v for k, v in optimisation.given().items() if k not in ("--pipeline", "--load")}
    check_unused({**given.about_layer, **more, **passes})
    chosen: CompileKeywords = {**collected(given.machine, given.program), **shared}
    if optimisation.pipeline is not None:
        chosen["pipeline"] = optimisation.pipeline
    chosen["load"] = optimisation.load or []
    json, quiet = given.output.json, given.output.quiet
    show_plan(given.program.source, given.layer, chosen, json, given.rows, quiet=quiet)


def _explain_collective(given: _Given, name: str) -> None:
    """How a collective of a step moves through the network."""
    more = {key: value for key, value in given.of_network.given().items() if key != "--collective"}
    shown = {"LAYER": given.layer, "--view": given.of_layer.view, "--svg": given.of_layer.svg, "--rows": given.rows}
    for key, value in {**more, **shown, "--only": given.program.only or None}.items():
        if value is not None:
            raise UsageError(f"{key} does not apply with --collective {name}", hint=f"leave out {key}")
    optimisation, output = given.optimisation, given.output
    options: CompileKeywords = {
        **collected(given.machine, given.program, optimisation),
        **given.devices.shared(),
    }
    if optimisation.opt_level is None and not (optimisation.pipeline or optimisation.before or optimisation.after):
        options = {**options, "opt_level": 0}  # schedules change nothing between devices
    target = picture_target(output.plot, made_for=output.plot_as)
    phase = given.of_layer.phase
    check_one_on_stdout(json=output.json, plot=output.plot, statistics_json=optimisation.statistics_json)
    source, backend, json = given.program.source, given.backend, output.json
    with watching(optimisation) as watchers:
        show = show_collective(source, name, phase, target, backend, options, watchers, json, quiet=output.quiet)
    if optimisation.statistics_json != "-":
        show()


def _explain_costs(given: _Given) -> None:
    """Where the time of a network goes, or that of one of its layers."""
    program, optimisation, output = given.program, given.optimisation, given.output
    source, backend, json, quiet = program.source, given.backend, output.json, output.quiet
    check_needless({"--rows": given.rows}, None if given.is_shared else "--devices N")
    options: CompileKeywords = {**collected(given.machine, program, optimisation), **given.devices.shared()}
    if given.layer is None:
        check_only_of_a_layer(given.about_layer)
    else:
        check_only_of_networks(given.of_network.given())
    target = layer_picture(output.plot, given.of_layer.svg, given.of_layer.view, made_for=output.plot_as, quiet=quiet)
    check_one_on_stdout(
        json=json,
        plot=None if target is None else target.path,
        statistics_json=optimisation.statistics_json,
    )
    with watching(optimisation) as watchers:
        if given.layer is None:
            shown = explain_network(source, backend, options, watchers, json, given.of_network, quiet=quiet)
        else:
            phase = given.of_layer.phase
            shown = explain_layer(source, given.layer, phase, target, backend, options, watchers, json, quiet=quiet)
    if optimisation.statistics_json != "-":
        shown()
