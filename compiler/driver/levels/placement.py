"""
Passes of one's own among those of a level: `--before ANCHOR=PASSES` and `--after ANCHOR=PASSES`.

    placed(["autodiff", "lower-to-npu", "schedule"], Options(before=["schedule=tidy"]))
    # ["autodiff", "lower-to-npu", "tidy", "schedule"]
"""

from __future__ import annotations

from collections.abc import Sequence

from npuc.compiler.core.errors import UsageError, nearest
from npuc.compiler.core.options import DEFAULT_LEVEL, Options


def split_placement(option: str, text: str) -> tuple[str, str]:
    """The anchor of a placement, and the passes to run there. Raises `UsageError` for another form."""
    anchor, equals, passes = text.partition("=")
    if not equals or not anchor.strip() or not passes.strip() or "{" in anchor:
        raise UsageError(f"--{option} {text}: expected PASS=PASSES", hint=f"for example --{option} schedule=own-pass")
    return anchor.strip(), passes.strip()


def placed(steps: Sequence[str], options: Options) -> list[str]:
    """
    The passes of a level with those of `before` and `after`: several at one anchor run in the order given.

    Where a pass runs twice, what comes before it comes before the first, and what comes after it after the last. Raises
    `UsageError` for an anchor that is none of the passes.
    """
    names = [step.partition("{")[0] for step in steps]
    front: list[list[str]] = [[] for _ in steps]
    behind: list[list[str]] = [[] for _ in steps]
    for option, texts, places in (("before", options.before, front), ("after", options.after, behind)):
        for text in texts:
            anchor, passes = split_placement(option, text)
            if anchor not in names:
                raise _unknown(option, text, anchor, names, options)
            last = len(names) - 1 - names[::-1].index(anchor)
            places[names.index(anchor) if option == "before" else last].append(passes)
    both = zip(front, steps, behind, strict=True)
    return [one for before, step, after in both for one in (*before, step, *after)]


def _unknown(option: str, text: str, anchor: str, names: Sequence[str], options: Options) -> UsageError:
    level = DEFAULT_LEVEL if options.opt_level is None else options.opt_level
    if not names:
        return UsageError(f"--{option} {text}: no pass of -O{level} runs here", hint=f"leave out --{option}")
    near = nearest(anchor, names)
    hint = f"did you mean '{near}'? " if near else ""
    return UsageError(
        f"--{option} {text}: found the anchor '{anchor}', expected a pass that -O{level} runs here",
        hint=f"{hint}they are {', '.join(dict.fromkeys(names))}",
    )
