"""These tests need PyTorch, and its own test data another package: without them they are not collected."""

import os
from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["*.py"]
collect_ignore = [] if find_spec("expecttest") else ["test_operator_samples.py"]

# Kernels for AVX-512 and AMX keep other digits between operations of 16 bits than those that are compared with.
os.environ.setdefault("ATEN_CPU_CAPABILITY", "avx2")
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX2")
