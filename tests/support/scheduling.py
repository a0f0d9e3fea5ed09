"""How xdist spreads the tests: a worker runs whole files, and those that share results one after another."""

from importlib import import_module
from typing import Any

TOGETHER: dict[str, tuple[str, ...]] = {
    "the thesis study": (
        "tests/docs/test_docs.py",
        "tests/docs/test_study_thesis.py",
        "tests/unit/cli/test_study_thesis.py",
        "tests/unit/study/test_thesis_claims.py",
        "tests/unit/study/test_thesis_gains.py",
    ),
    "the study of hybrid parallelism": ("tests/docs/test_study_hypar.py", "tests/unit/study/test_hypar_study.py"),
    "forward programs": ("tests/unit/samples/test_figures.py", "tests/unit/samples/test_samples.py"),
}
"""Files that share results, by what they share."""

_Scheduling: Any = import_module("xdist.scheduler").LoadScopeScheduling  # xdist ships no types


class SharingScheduling(_Scheduling):
    """`--dist loadfile`, where the files of an entry of `TOGETHER` are as one."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def scope_of(nodeid: str) -> str:
    """What a worker runs as a whole: the entry of `TOGETHER` that has the file of a test, else that file."""
    file = nodeid.partition("::")[0]
    return next((name for name, files in TOGETHER.items() if file in files), file)
