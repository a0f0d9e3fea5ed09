"""The command line that makes a page."""

import shlex
import sys


def shown_command() -> str:
    """The command line as a shell reads it."""
    return shlex.join(["npuc", *sys.argv[1:]])
