"""Pages of layers, hardware keys and report keys for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from npuc.compiler.reference.keys import KeyPage
from npuc.compiler.reference.layers import LayerPage
from npuc.compiler.reference.report import ReportKeyPage
from npuc.compiler.reference.text import NARROWEST, blocks, prose, rows

KINDS = {"layer": "layer", "loss": "loss", "block": "block of the library", "optimizer": "optimizer"}


def layer_text(page: LayerPage, width: int) -> str:
    """What a layer is, in lines of at most `width` characters."""
    return _joined(_layer_lines(page, max(width, NARROWEST)))


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def _layer_lines(page: LayerPage, width: int) -> Iterator[str]:
    yield page.name
    yield from prose([page.text[0]] if page.text else [], width)
    yield from blocks(page.text[1:], width)
    yield f"\n{KINDS[page.kind]}"
    yield from prose([page.signature], width)
    if page.arguments:
        yield "\narguments"
        entries = [
            (one.name if one.default is None else f"{one.name} = {one.default}", one.takes or "")
            for one in page.arguments
        ]
        yield from rows(entries, width)


def key_text(page: KeyPage, width: int) -> str:
    """What a hardware key is, in lines of at most `width` characters."""
    return _joined(_key_lines(page, max(width, NARROWEST)))


def _key_lines(page: KeyPage, width: int) -> Iterator[str]:
    yield page.name
    yield from prose([page.meaning], width)
    yield "\nvalue"
    yield from prose([page.takes, *([] if page.default is None else [f"default: {page.default}"])], width)
    if page.presets:
        yield "\npresets"
        yield from rows(list(page.presets.items()), width)


def report_key_text(page: ReportKeyPage, width: int) -> str:
    """What a key of a report is, in lines of at most `width` characters."""
    return _joined(_report_lines(page, max(width, NARROWEST)))


def _report_lines(page: ReportKeyPage, width: int) -> Iterator[str]:
    yield page.name
    yield from prose([page.meaning] if page.meaning else [], width)
    yield "\nvalue"
    yield from prose([page.type], width)
    if page.keys:
        yield "\nkeys"
        yield from prose([", ".join(page.keys)], width)
    yield "\npart of"
    yield from prose([page.about], width)
