"""`npuc explain`: where the time of a step goes, and that of one layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

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
from npuc.compiler.cli.shared import Verb, whole
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
    layer: Annotated[str | None, typer.Argument(help="Layer: a name, a glob, or a number (#3 is the fourth).")] = None,
    phase: Annotated[
        str | None, typer.Option("--phase", metavar="forward|dx|dw|dxdw|update", help="Explain only this phase.")
    ] = None,
    svg: Annotated[
        str | None, typer.Option("--svg", metavar="FILE|-", hidden=True, help="The former name of --plot.")
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(
            "-b", "--backend", metavar="NAME", help="Cost model (npuc list backends); with --devices, for one of them."
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option("--top", metavar="N", parser=whole(1), help="Of a network, explain so many layers (default: 5)."),
    ] = None,
    changes: Annotated[
        int | None,
        typer.Option(
            "--changes", metavar="N", parser=whole(0), help="Of a network, try at most so many changes (default: 8)."
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
    source, quiet = program.source, output.quiet
    with Verb(output.debug):
        asked = names.asked()
        if asked:
            own = {"SOURCE": source, "LAYER": layer, "--phase": phase, "-b": backend, "--rows": rows}
            own |= {"--top": _text(top), "--changes": _text(changes)}
            own |= {"--plot": output.plot, "--svg": svg}
            check_alone(asked, own, program, machine, optimisation, devices)
            show_reference(asked, optimisation.load or [], output.json)
            return
        if not source:
            raise UsageError("missing argument SOURCE", hint="npuc explain samples:mlp fc1, or --op npu.contract")
        shared = devices.shared()
        several = (devices.devices or 1) > 1 or devices.mesh is not None
        if several and backend is None:
            check_costs_alone({"--top": top, "--changes": changes})
            unused = {"--phase": phase, "--plot": output.plot, "--svg": svg, "-O": optimisation.opt_level}
            more = {"--only": program.only, "--mapping": machine.mapping}
            passes = {k: v for k, v in optimisation.given().items() if k not in ("--pipeline", "--load")}
            check_unused({**unused, **more, **passes})
            chosen: CompileKeywords = {**collected(machine, program), **shared}
            if optimisation.pipeline is not None:
                chosen["pipeline"] = optimisation.pipeline
            chosen["load"] = optimisation.load or []
            show_plan(source, layer, chosen, output.json, rows, quiet=quiet)
            return
        check_needless({"--rows": rows}, None if several else "--devices N")
        options: CompileKeywords = {**collected(machine, program, optimisation), **shared}
        if layer is None:
            check_only_of_a_layer({"--phase": phase, "--plot": output.plot, "--svg": svg})
        else:
            check_only_of_networks({"--top": top, "--changes": changes})
        target = layer_picture(output.plot, svg, quiet=quiet)
        check_one_on_stdout(
            json=output.json,
            plot=None if target is None else target.path,
            statistics_json=optimisation.statistics_json,
        )
        with watching(optimisation) as watchers:
            if layer is None:
                shown = explain_network(source, backend, options, watchers, output.json, top, changes, quiet=quiet)
            else:
                shown = explain_layer(
                    source, layer, phase, target, backend, options, watchers, output.json, quiet=quiet
                )
        if optimisation.statistics_json != "-":
            shown()


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)
