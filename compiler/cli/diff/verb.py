"""A verb whose command line is that of two others: it is split, each half is read as a whole, and both are compared."""

from __future__ import annotations

from typing import Any

from typer.core import TyperOption

from npuc.compiler.cli.diff.sides import split
from npuc.compiler.cli.verbs.command import VerbCommand, with_values
from npuc.compiler.cli.verbs.spelling import present

OWN = frozenset(
    (
        *("--json", "--csv", "--html", "--table", "--top", "--fail-slower", "--fail-more"),
        *("--quiet", "--debug", "--cache-dir", "--no-cache"),
    )
)
"""The options of the comparison itself."""
_OTHER = "npuc.diff.other"


class TwoSided(VerbCommand):
    """Reads A from what is given once or first, B from what is given once or second."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raises `UsageError` for an option that is given more than twice."""
        params = self.get_params(ctx)
        options = [one for one in params if isinstance(one, TyperOption)]
        if {*args} & {*ctx.help_option_names}:
            return super().parse_args(ctx, args)
        own = [name for one in options if {*one.opts} & OWN for name in one.opts]
        first, second = split(with_values(present(args, str(self.name)), params), options, own)
        other = type(ctx)(self, info_name=ctx.info_name, parent=ctx.parent)
        super().parse_args(other, second)
        ctx.meta[_OTHER] = other
        return super().parse_args(ctx, first)

    def invoke(self, ctx: Any) -> Any:
        """Compare what both halves ask for."""
        from npuc.compiler.cli.diff.run import run

        return run(super().invoke(ctx), super().invoke(ctx.meta[_OTHER]))
