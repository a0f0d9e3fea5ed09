"""These tests need PyTorch: without it they are not collected."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["*.py"]
