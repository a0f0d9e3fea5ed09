"""The commands whose output is written down, and what they print on a terminal so many columns wide."""

import contextlib
import io
import os
from pathlib import Path
from unittest import mock

from npuc.compiler.cli import run_command

WIDTHS = (60, 80, 120, 200)
FOLDER = Path(__file__).parent
COMMANDS = (
    "compile samples:resnet18 -q",
    "compile samples:gpt2 -q -O0 -D batch=8 --devices 8",
    "compile samples:mlp -q -b cycle -b roofline -b maestro",
    "compile samples:mlp -q --set array.cores=2 --rows cores",
    "diff samples:lenet -q -O0 -O3 --top 2",
    "diff samples:mlp -q -b cycle -b roofline",
    "explain samples:mlp --changes 4 -q",
    "explain samples:mlp h.linear --phase forward -q",
    "explain samples:gpt2 -D batch=8 --devices 8 -q",
    "explain samples:lenet_c fc1 --devices 4 --convention physical -q",
    "optimize samples:mlp -b roofline --goals time,memory --vary batch=16,64 --vary dram.gb_per_s=75,150 -q",
    "sweep samples:mlp --vary memory.spm_kib=64,128 --vary dram.gb_per_s=75,150 -q",
    "map samples:lenet -q",
    "flexibility samples:lenet --hw nvdla --budget 20 -q",
    "reuse samples:lenet -q",
    "study crosscheck --preset os -q",
    "list hardware",
    "list backends",
    "list studies",
)


def printed(command: str, width: int) -> str:
    """The standard output of a command."""
    stream = io.StringIO()
    with mock.patch.dict(os.environ, COLUMNS=str(width)), contextlib.redirect_stdout(stream):
        status = run_command(command.split())
    assert status == 0, command
    return stream.getvalue()


def page(width: int) -> str:
    """The output of all commands."""
    return "\n".join(f"$ npuc {command}\n{printed(command, width)}" for command in COMMANDS)


def file_of(width: int) -> Path:
    """Where the output of a width is written down."""
    return FOLDER / f"{width}.txt"
