"""A verb of the command line: its options are given once, and its help has them in groups, with examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typer.core import TyperCommand, TyperGroup, TyperOption

from npuc.compiler.cli.examples import EXAMPLES
from npuc.compiler.cli.groups import KEYWORDS
from npuc.compiler.cli.verbs.spelling import present
from npuc.compiler.core.errors import UsageError

OWN = "Options"
"""The heading of the options that are in no group."""
WIDEST = 32
"""The widest option that has its description beside it."""


class VerbCommand(TyperCommand):
    """
    Refuses an option of one value that is given twice, and both of two switches that exclude each other: of two values
    the first would be ignored.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raises `UsageError` for an option that is given twice."""
        args = with_values(present(args, str(self.name)), self.get_params(ctx))
        rest = super().parse_args(ctx, list(args))
        given = self.make_parser(ctx).parse_args(list(args))[2]
        once = [one for one in given if isinstance(one, TyperOption) and not one.multiple]
        for number, option in enumerate(once):
            if option in once[:number] and (option.secondary_opts or not option.is_flag):
                raise UsageError(f"{_shown(option)} is given twice", hint=_hint(option))
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, the verb's own before those of groups, and examples."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], OWN: []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                own = OWN if isinstance(param, TyperOption) else "Arguments"
                sections.setdefault(getattr(param, "rich_help_panel", None) or own, []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records, col_max=WIDEST)
        examples = EXAMPLES.get(str(self.name), ())
        if examples:
            with formatter.section("Examples"):
                formatter.write_dl(
                    [(f"npuc {self.name} {rest}", meaning) for rest, meaning in examples], col_max=WIDEST
                )


def with_values(args: list[str], params: list[Any]) -> list[str]:
    """The arguments with an empty value behind an option whose value may be left out: its metavar is in brackets."""
    bare = {name for one in params if str(one.metavar or "").startswith("[") for name in getattr(one, "opts", ())}
    found: list[str] = []
    for number, arg in enumerate(args):
        found.append(arg)
        if arg in bare and (number + 1 == len(args) or args[number + 1].startswith("-")):
            found.append("")
    return found


class Verbs(TyperGroup):
    """The verbs, each with the whole first sentence of what it does."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs."""
        found = [self.get_command(ctx, name) for name in self.list_commands(ctx)]
        records = [
            (str(verb.name), (verb.help or "").partition("\n")[0].split(". ")[0].rstrip(".") + ".")
            for verb in found
            if verb is not None and not verb.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(records)


def verbs_with(option: str, verbs: Mapping[str, Any]) -> list[str]:
    """The verbs that have an option of this name."""
    return [
        name
        for name, verb in verbs.items()
        if any(
            option in (*param.opts, *param.secondary_opts)
            for param in verb.params
            if not getattr(param, "hidden", False)
        )
    ]


def _shown(option: TyperOption) -> str:
    """An option as the command line has it: by its long name, switches with their opposite."""
    return "/".join(max(names, key=len) for names in (option.opts, option.secondary_opts) if names)


def _hint(option: TyperOption) -> str:
    from npuc.compiler.explore.sweep.axes import OPTIONS

    keyword = KEYWORDS.get(str(option.name), option.name)
    key = next((key for key, target in OPTIONS.items() if target == keyword), None)
    return "give it once" if key is None else f"npuc sweep --vary {key}=A,B compares both"
