"""These tests need PyTorch, and its own test data another package: without them they are not collected."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["*.py"]
collect_ignore = [] if find_spec("expecttest") else ["test_operator_samples.py"]
