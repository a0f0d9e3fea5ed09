"""A verb whose options are given once: of two values the first would be ignored."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperOption

from npuc.compiler.cli.groups import KEYWORDS
from npuc.compiler.core.errors import UsageError


class VerbCommand(TyperCommand):
    """Refuses an option of one value that is given twice, and both of two switches that exclude each other."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raises `UsageError` for an option that is given twice."""
        rest = super().parse_args(ctx, list(args))
        given = self.make_parser(ctx).parse_args(list(args))[2]
        once = [one for one in given if isinstance(one, TyperOption) and not one.multiple]
        for number, option in enumerate(once):
            if option in once[:number] and (option.secondary_opts or not option.is_flag):
                raise UsageError(f"{_shown(option)} is given twice", hint=_hint(option))
        return rest


def _shown(option: TyperOption) -> str:
    """An option as the command line has it: by its long name, switches with their opposite."""
    return "/".join(max(names, key=len) for names in (option.opts, option.secondary_opts) if names)


def _hint(option: TyperOption) -> str:
    from npuc.compiler.explore.sweep.axes import OPTIONS

    keyword = KEYWORDS.get(str(option.name), option.name)
    key = next((key for key, target in OPTIONS.items() if target == keyword), None)
    return "give it once" if key is None else f"npuc sweep --vary {key}=A,B compares both"
