"""The picture of a step that was compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuc.compiler.cli.plot.target import PictureTarget
    from npuc.compiler.driver.compile import Compilation

VIEWS = ("layers", "roofline", "groups", "graph")


def draw_step(result: Compilation, picture: PictureTarget, depth: str | None) -> Mapping[str, bytes]:
    """The time of layers by phase, products below the roofs, groups over time, or the graph folded to a depth."""
    if picture.view == "graph":
        from npuc.compiler.graph import build, depth_of, draw_graph

        graph = build(result.modules[0], result.reports[0], depth_of(depth))
        return picture.drawn(lambda kind: draw_graph(graph, kind))
    from npuc.compiler.report.pictures.layers import draw_reports, view_named

    view = view_named(picture.view)
    return picture.drawn(lambda kind: draw_reports(result.reports, view, kind))
