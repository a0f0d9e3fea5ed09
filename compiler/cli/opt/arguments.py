"""The options of `npuc opt`: npuc's from the groups of the other verbs, before those of xDSL's tool."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, TypeVar, get_args, get_type_hints

import typer
from typer.models import OptionInfo

from npuc.compiler.cli.groups import Group
from npuc.compiler.cli.options import Devices, Machine, Optimisation, Output, Program
from npuc.compiler.cli.verbs.absent import ABSENT
from npuc.compiler.core.errors import UsageError

GroupT = TypeVar("GroupT", bound=Group)
TAKEN: dict[type[Group], tuple[str, ...]] = {
    group: tuple(option.name for option in fields(group) if option.name not in ("source", *ABSENT["opt"]))
    for group in (Program, Machine, Optimisation, Devices, Output)
}
"""The options of each group that the tool takes."""
OF_TOOL = {"pipeline": ("passes", "--passes", ""), "output": ("output_file", "--output-file", None)}
"""Those that xDSL's tool has under another name: where it looks for them, that name, and the default there."""
SHOWN = (
    *("--frontend", "--print-op-generic", "--print-debuginfo"),
    *("--print-between-passes", "--split-input-file", "--emit", "--depth"),
)
"""Options of the tool itself that its help shows without `--all`."""


EMITTED = "mlir|linalg|stablehlo|dot|svg"
"""The forms in which the tool writes a program."""
SOURCE = "A .dsl, .mlir, .pt2, .onnx, .json, .cfg, .csv or .m file, samples:NAME, or - for a .dsl; without, IR."
"""What the tool reads."""


def add_groups(parser: ArgumentParser) -> None:
    """Add the options of the groups to a parser; what xDSL's tool calls the same is replaced."""
    parser.conflict_handler = "resolve"
    # argparse shows groups in the order in which they were made, its own first, and has no other way to say it
    groups = parser._action_groups  # pyright: ignore[reportPrivateUsage]
    for number, (group, names) in enumerate(TAKEN.items()):
        own = parser.add_argument_group(group.title)
        own.conflict_handler = "resolve"
        hints = get_type_hints(group, include_extras=True)
        for option in fields(group):
            if option.name in names:
                kind, info = get_args(hints[option.name])
                _add(own, option.name, kind, info, option.default)
        groups.insert(1 + number, groups.pop())
    own = parser.add_argument_group("Help")
    own.add_argument("--all", action="store_true", help="Show in the help the options and passes of xDSL, too.")
    groups.insert(1 + len(TAKEN), groups.pop())


def _spelt(info: OptionInfo) -> list[str]:
    """How an option is written: `-O`, `--on/--off`."""
    return [text for text in (info.default, *(info.param_decls or ())) if isinstance(text, str)]


def _spellings() -> Iterator[str]:
    """All ways to write the options of npuc's own."""
    yield "--all"
    for group, names in TAKEN.items():
        hints = get_type_hints(group, include_extras=True)
        for name in names:
            _, info = get_args(hints[name])
            for text in _spelt(info):
                yield from text.split("/")


def _add(to: Any, name: str, kind: object, info: OptionInfo, default: object) -> None:
    spelt = _spelt(info)
    said = {"dest": name, "default": default, "help": (info.help or "").replace("%", "%%")}
    if name in OF_TOOL:
        said["dest"], other, said["default"] = OF_TOOL[name]
        spelt.append(other)
    on, _, off = spelt[0].partition("/")
    if off:
        to.add_argument(on, action="store_true", **said)
        to.add_argument(off, action="store_false", **{**said, "help": "Require a loss."})
    elif kind is bool:
        to.add_argument(*spelt, action="store_true", **said)
    else:
        several = (
            {"action": "append"}
            if list in (kind, *(getattr(one, "__origin__", None) for one in get_args(kind)))
            else {}
        )
        to.add_argument(*spelt, metavar=info.metavar, **said, **several, type=_reader(info))


def _reader(info: OptionInfo) -> Any:
    """What reads the value of an option, with its own message for a wrong one."""
    parse = info.parser
    if parse is None:
        return str

    def read(text: str) -> object:
        try:
            return parse(text)
        except typer.BadParameter as e:
            raise UsageError(f"{info.metavar}: {e}") from None

    return read


def group_of(arguments: Namespace, kind: type[GroupT], **more: object) -> GroupT:
    """A group with the values that a parser has found."""
    values = {name: getattr(arguments, OF_TOOL[name][0] if name in OF_TOOL else name) for name in TAKEN[kind]}
    values |= {} if values.get("pipeline", "x") else {"pipeline": None}
    return kind(**values, **more)


def arrange_help(parser: ArgumentParser, arguments: Sequence[str], own: Sequence[str], upstream: Sequence[str]) -> None:
    """Let the help show what is npuc's, and with `--all` what is xDSL's besides; `own` and `upstream` are passes."""
    everything = "--all" in arguments
    mine = {name for names in (SHOWN, ("--help",), _spellings()) for name in names}
    # the options are xDSL's: argparse lists them nowhere else
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        if action.dest == "input_file":
            action.help = SOURCE
        if not everything and action.option_strings and mine.isdisjoint(action.option_strings):
            action.help = SUPPRESS
    listed = [f"npuc's passes: {', '.join(own)}"]
    listed += (
        [f"xDSL's passes: {', '.join(upstream)}"] if everything else ["--all shows xDSL's options and passes, too."]
    )
    parser.epilog = " ".join([*listed, "npuc explain --pass NAME explains one."])
