"""The page of a step that was compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuc.compiler.cli.page.command import shown_command
from npuc.compiler.core.drawing.palette import PHASE_NAMES

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from npuc.compiler.driver.compile import Compilation
    from npuc.compiler.report.page.model import Area
    from npuc.hardware import Hardware

MOST_PLACES = 1_500
"""The most operations of the picture of memory: of more, those with most of so many neighbours stand for them."""


def step_html(result: Compilation, above: ModuleOp | None) -> str:
    """The file of a page; `above` is the program before it is planned for a machine, if there was one."""
    from npuc.backends.registry import get_backend
    from npuc.compiler.cli.page.programs import texts_of_layers
    from npuc.compiler.report.page.step import Extras, step_page
    from npuc.compiler.report.page.write import html_page

    extras = Extras(
        command=shown_command(),
        programs=[texts_of_layers(module) for module in result.modules],
        memory=None if above is None else _memory(above, result.machines[0]),
        words=[get_backend(report.backend).words for report in result.reports],
    )
    return html_page(step_page(result.reports, extras))


def _memory(above: ModuleOp, machine: Hardware) -> Area | None:
    from npuc.compiler.analysis.memory.course import course_of_module
    from npuc.compiler.report.page.model import Area
    from npuc.compiler.transforms.autodiff import whole_step

    course = course_of_module(whole_step(above), machine.get("memory.element_bytes", int))
    if course is None or not course.places:
        return None
    live = course.live
    each = -(-len(live) // MOST_PLACES)
    kept = [max(range(at, min(at + each, len(live))), key=lambda n: live[n]) for at in range(0, len(live), each)]
    return Area(
        title="Memory over the step",
        unit="bytes",
        places=[f"{layer or 'step'}, {PHASE_NAMES[role.value]}" for layer, role in (course.places[n] for n in kept)],
        series=[(kind, [values[n] for n in kept]) for kind, values in course.kinds.items()],
        mark=max(range(len(kept)), key=lambda place: live[kept[place]]),
        about="Tensors that are live at each operation, in program order, before the step is planned for a machine.",
    )
