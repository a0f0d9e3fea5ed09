"""Results of single verbs that `npuc plot` draws again, and those of which no picture can be made from a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

from npuc.compiler.core.errors import UsageError
from npuc.studies.base import STUDIES

TABLES = ("npuc.sweep/1", "npuc.report/1", "npuc.comparison/1")
"""What has rows to choose axes for."""
HINT = (
    "it draws what sweep, compile, run, map, reuse, machine, design, optimize, flexibility, network and training write "
    "by --json"
)


def schema_of(data: bytes, path: str) -> str:
    """The schema that a file names. Raises `UsageError` where it is no result."""
    return str(_document(data, path)["schema"])


def draw_document(data: bytes, path: str, kind: str) -> bytes:
    """
    The picture of a result that is no table, as its verb draws it, as a file of a kind (`svg`, `png`, `pdf`).

    Raises `UsageError` for one that has no picture, or that its file does not hold.
    """
    document = _document(data, path)
    schema = str(document["schema"])
    if schema not in DRAWN:
        what, hint = _refusal(schema, document)
        raise UsageError(f"'{path}' cannot be drawn: {what}", hint=hint)
    try:
        return DRAWN[schema](data, kind)
    except (ValueError, msgspec.MsgspecError) as e:
        raise UsageError(f"'{path}' is no result to draw: {str(e)[:160]}", hint=HINT) from None


def _document(data: bytes, path: str) -> Mapping[str, Any]:
    try:
        document: object = json.loads(data)
    except (ValueError, RecursionError) as e:
        raise UsageError(f"'{path}' is no result to draw: {str(e)[:120]}", hint=HINT) from None
    found = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    if not isinstance(found.get("schema"), str):
        raise UsageError(f"'{path}' is no result to draw: it names no schema", hint=HINT)
    return found


def _refusal(schema: str, document: Mapping[str, Any]) -> tuple[str, str]:
    """Why a result has no picture, and what to do."""
    source = document.get("source", "SOURCE")
    match schema:
        case "npuc.layer/1":
            what = "a picture of a layer needs its program"
            return what, f"npuc explain {source} {document.get('layer', 'LAYER')} --plot FILE draws it"
        case "npuc.costliest/1":
            what = "the changes of npuc explain have no picture"
            return what, f"npuc compile {source} --plot FILE draws the time of the layers"
        case "npuc.study/1":
            return _refused_study(document.get("study", "NAME"))
        case _:
            return f"results of the kind {schema} have no picture", HINT


def _refused_study(name: object) -> tuple[str, str]:
    """The same of a study; one that nobody knows may draw."""
    try:
        draws = "plot" in STUDIES.get(str(name)).takes
    except UsageError:
        draws = True
    if draws:
        return "figures of a study need its points", f"npuc study {name} --plot FILE"
    return f"the study {name} has no figures", f"npuc study {name} --csv FILE writes its rows"


def _run(data: bytes, kind: str) -> bytes:
    from npuc.compiler.report.training.document import Training
    from npuc.compiler.report.training.picture import draw_training

    training = msgspec.json.decode(data, type=Training)
    if len(training.losses) < 2:
        raise ValueError("it has no losses of several steps")
    if training.accuracies and len(training.accuracies) != len(training.losses):
        raise ValueError("it has not one accuracy for each loss")
    if any(not 0 < clock.seconds_per_step < MOST for clock in training.simulated):
        raise ValueError("the time of a step is not above 0")
    if any(loss is not None and abs(loss) > MOST for loss in training.losses):
        raise ValueError("a loss is too large")
    return draw_training(training, kind)


def _map(data: bytes, kind: str) -> bytes:
    from npuc.compiler.explore.mapping.picture import draw_file

    return draw_file(data, kind)


def _reuse(data: bytes, kind: str) -> bytes:
    from npuc.compiler.report.pictures.reuse import draw_reuse
    from npuc.compiler.report.reuse import ReuseReport

    report = msgspec.json.decode(data, type=ReuseReport)
    if any(point.capacity_bytes < 0 or point.traffic_bytes < 0 for point in report.curve):
        raise ValueError("its curve has amounts below 0")
    return draw_reuse(report, kind)


def _machine(data: bytes, kind: str) -> bytes:
    from npuc.compiler.reference.machine import MachinePage
    from npuc.compiler.reference.machine_picture import draw_rooflines

    page = msgspec.json.decode(data, type=MachinePage)
    for one in page.backends:
        known = one.ridge_ops_per_byte, one.peak_ops_per_second, one.bytes_per_second
        if any(number is not None and not 0 < number < MOST for number in known):
            raise ValueError(f"the roofline of {one.backend} is not above 0")
    return draw_rooflines(page, kind)


def _design(data: bytes, kind: str) -> bytes:
    from npuc.compiler.explore.design.picture import draw_file

    return draw_file(data, kind)


def _optimize(data: bytes, kind: str) -> bytes:
    from npuc.compiler.explore.optimize.picture import draw_file

    return draw_file(data, kind)


def _training(data: bytes, kind: str) -> bytes:
    from npuc.compiler.explore.training.picture import draw_file

    return draw_file(data, kind)


def _flexibility(data: bytes, kind: str) -> bytes:
    from npuc.compiler.explore.flexibility.picture import draw_file

    return draw_file(data, kind)


def _network(data: bytes, kind: str) -> bytes:
    from npuc.compiler.explore.network.picture import draw_file

    return draw_file(data, kind)


MOST = 1e150
"""No number of a file is larger."""
DRAWN: Mapping[str, Callable[[bytes, str], bytes]] = {
    "npuc.run/1": _run,
    "npuc.map/1": _map,
    "npuc.reuse/1": _reuse,
    "npuc.machine/1": _machine,
    "npuc.design/1": _design,
    "npuc.flexibility/1": _flexibility,
    "npuc.network/1": _network,
    "npuc.optimize/1": _optimize,
    "npuc.training/1": _training,
}
"""What draws each result as its verb does."""
