"""A planned study, run with what a person sees of it meanwhile."""

from __future__ import annotations

import sys

from npuc.compiler.cli.progress import progress
from npuc.compiler.cli.shared import aside
from npuc.studies.base import Outcome, Plan


def run_plan(name: str, plan: Plan, *, quiet: bool) -> Outcome:
    """The outcome of a planned study, with its notice, its progress and its warnings on standard error."""
    if plan.notice is not None and not quiet:
        print(f"npuc: {plan.notice}", file=sys.stderr)
    with progress(f"study {name}", plan.points, bar=not quiet) as (advance, _):
        outcome = plan.run(lambda what, count: advance(count, what))
    if not quiet:
        for line in outcome.warnings:
            aside(f"warning: {line}")
    return outcome
