"""The packages: every folder with an `__init__.py`, under `npuc`. The rest of the metadata is in pyproject.toml."""

from pathlib import Path

from setuptools import setup

FOLDERS = ("compiler", "dialects", "hardware", "backends", "frontends", "samples", "studies")

files = [file for folder in FOLDERS for file in sorted(Path(folder).rglob("__init__.py"))]
setup(packages=[".".join(("npuc", *file.parent.parts)) for file in files])
