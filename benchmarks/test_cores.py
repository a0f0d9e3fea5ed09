"""
What many cores cost to compile, as ratios to one core.

    pytest benchmarks/test_cores.py --benchmark-columns=mean

Each is a process of its own that keeps nothing on disk. `extra_info` has `times_one_core`, CPU time with start-up, and
`times_one_core_mib`, the peak of memory, both beside one core in the same run.
"""

import json
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

COMPILE = """
import json, resource, sys
from npuc.compiler import compile_source
from npuc.frontends import read_text
name, level, cores = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
text = read_text(f"samples:{name}")
compile_source(text, filename=f"samples:{name}", opt_level=level, overrides={"array.cores": cores})
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


def measured(name: str, level: int, cores: int) -> tuple[float, float]:
    """CPU seconds and the peak of memory in MiB of a process that compiles a sample for so many cores."""
    command = [sys.executable, "-c", COMPILE, name, str(level), str(cores)]
    seconds, mib = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return float(seconds), float(mib)


@cache
def one_core(name: str, level: int) -> tuple[float, float]:
    """What one core takes."""
    return measured(name, level, 1)


@pytest.mark.parametrize("cores", [7, 16, 64, 132, 528])
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", ["resnet50", "mobilenet_v2", "bert_base", "gpt2", "lstm_lm"])
def test_cores(benchmark: Any, name: str, level: int, cores: int) -> None:
    found: list[tuple[float, float]] = []
    benchmark.pedantic(lambda: found.append(measured(name, level, cores)), rounds=1)
    (seconds, mib), (one_seconds, one_mib) = found[0], one_core(name, level)
    benchmark.extra_info["times_one_core"] = seconds / one_seconds
    benchmark.extra_info["times_one_core_mib"] = mib / one_mib
