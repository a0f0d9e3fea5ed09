"""
Where the store is, and how large it may become: by options, by the environment, or as the platform has it.

    npuc compile net.dsl --cache-dir .npuc-cache        or --no-cache
    NPUC_CACHE_DIR=/scratch/npuc  NPUC_CACHE_MIB=2048  NPUC_NO_CACHE=1
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing takes longer to load than all that stands here
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OPTION, SWITCH = "--cache-dir", "--no-cache"
FOLDER, OFF, BOUND = "NPUC_CACHE_DIR", "NPUC_NO_CACHE", "NPUC_CACHE_MIB"
"""The environment variables."""
DEFAULT_MIB = 512
MIB = 1 << 20
MOST_DIGITS = 12


class Place:
    """
    Where the store is, None for nowhere, and how many bytes it may have; `complaint` says what is wrong with that, and
    `named` whether the user named the folder.
    """

    def __init__(self, folder: str | None, bound: int, complaint: str | None = None, named: bool = False):
        self.folder, self.bound, self.complaint, self.named = folder, bound, complaint, named


def place(arguments: Sequence[str], environment: Mapping[str, str]) -> Place:
    """The place of the store for a command; options win over the environment."""
    bound, complaint = _bound(environment.get(BOUND, ""))
    asked, off = _options(arguments)
    if off or (asked is None and environment.get(OFF)):
        return Place(None, bound)
    folder = asked or environment.get(FOLDER) or None
    found = user_folder(environment) if folder is None else os.path.abspath(folder)
    return Place(found, bound, complaint, folder is not None)


def user_folder(environment: Mapping[str, str]) -> str | None:
    """The folder for files of a user that can be made anew, as the platform has it; None for a user without a home."""
    if sys.platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return os.path.join(local, "npuc", "Cache") if local else None
    configured = environment.get("XDG_CACHE_HOME", "")
    if os.path.isabs(configured):
        return os.path.join(configured, "npuc")
    home = environment.get("HOME") or os.path.expanduser("~")
    if not os.path.isabs(home):
        return None
    between = ("Library", "Caches") if sys.platform == "darwin" else (".cache",)
    return os.path.join(home, *between, "npuc")


def _options(arguments: Sequence[str]) -> tuple[str | None, bool]:
    """The folder that the options of a command name, and whether they want no store."""
    asked, off = None, False
    for number, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument == SWITCH:
            off = True
        elif argument == OPTION and number + 1 < len(arguments):
            asked = arguments[number + 1]
        elif argument.startswith(OPTION + "="):
            asked = argument[len(OPTION) + 1 :]
    return asked, off


def _bound(text: str) -> tuple[int, str | None]:
    """The bytes that the environment allows, and what is wrong with what it says."""
    if not text:
        return DEFAULT_MIB * MIB, None
    if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS and int(text) >= 1):
        return DEFAULT_MIB * MIB, f"{BOUND}={text}: expected a number of MiB from 1 on; the bound is {DEFAULT_MIB} MiB"
    return int(text) * MIB, None
