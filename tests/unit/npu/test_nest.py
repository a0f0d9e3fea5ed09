"""Nests as keys of tables: equal ones hash alike, in every process."""

import os
import pickle
import subprocess
import sys

from tests.schedules import gemm

LOAD = """
import pickle, sys
from tests.schedules import gemm
nest = pickle.load(sys.stdin.buffer)
sys.exit(not (hash(nest) == hash(gemm(2, 3, 4)) and {nest: 1} == {gemm(2, 3, 4): 1}))
"""


def test_equal_nests_hash_alike_in_another_process() -> None:
    nest = gemm(2, 3, 4)
    assert hash(nest) == hash(gemm(2, 3, 4)) != hash(gemm(2, 4, 3))
    # Strings hash otherwise there.
    environment = os.environ | {"PYTHONHASHSEED": "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"}
    subprocess.run([sys.executable, "-c", LOAD], input=pickle.dumps(nest), env=environment, check=True)
