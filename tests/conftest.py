"""Settings of the whole suite, its markers, and the number of random examples."""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

# Tests run side by side, a worker a core: linear algebra on several threads would only get in their way.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    # Commands that tests start would compile all sources each time: their byte code goes where nobody looks.
    os.environ["PYTHONPYCACHEPREFIX"] = str(Path(__file__).parents[1] / ".pytest_cache" / "bytecode")
os.environ["NPUC_NO_CACHE"] = "1"  # nothing of a user's is touched, and nothing is answered from an earlier test
os.environ.pop("COLUMNS", None)  # workers are told a width: piped output is to be as wide as it needs to be

# One profile for all: how long an example takes depends on what else the machine does. It is loaded before any test is
# imported, so that every `@settings` begins with it.
settings.register_profile("npuc", deadline=None)
settings.load_profile("npuc")

TESTS = Path(__file__).parent
FAST = (
    *("test_tiny.py", "test_architecture.py", "test_filecheck.py"),
    *(f"unit/{name}" for name in ("core", "driver", "emit", "frontends", "hardware", "interpreter", "npu")),
)
"""What `-m fast` runs: files and folders of tests/ that a change anywhere in the compiler is likely to break."""

YOUNG_OBJECTS = 200_000
"""How many objects the tests make between two searches for reference cycles: programs are full of such cycles, and a
search walks all that caches keep."""

SETTINGS = "_hypothesis_internal_use_settings"
PROFILES = {"full": (1, None), "ci": (3, 60), "dev": (2, 10)}
"""
The random examples of a property by profile: its own number over the first one, at most the second, but `FEW` at least.
Of a test's many seeds, those that the first number divides.
"""
FEW, MANY_SEEDS = 10, 4
WHOLE_RUN = 2_000
"""From how many tests on heavy cases are left out: who names files or tests gets all of them."""


# What is imported and collected is kept.
gc.disable()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the choice of a profile."""
    default = os.environ.get("HYPOTHESIS_PROFILE", "ci")
    text = "random examples of a property: a third, at most 60 (ci), 10 (dev), all, and heavy cases (full)"
    golden = "write what pages, tables and the schema say of the program anew, and then run the tests"
    parser.addoption("--update-golden", action="store_true", help=golden)
    parser.addoption("--examples", choices=tuple(PROFILES), default=default, help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse an unknown profile, and a fast part that is no longer there; keep the tests of a file together."""
    if config.getoption("dist", "no") == "load":
        config.option.dist = "loadfile"  # a worker runs whole files: what their tests share is computed once
    if (profile := config.getoption("examples")) not in PROFILES:
        raise pytest.UsageError(f"unknown profile '{profile}'; known: {', '.join(PROFILES)}")
    if config.getoption("update_golden") and not hasattr(config, "workerinput"):
        from tests.support.golden import update_golden

        print("\n".join(["written anew:", *update_golden()]))
    if gone := [name for name in FAST if not (TESTS / name).exists()]:
        raise pytest.UsageError(f"FAST in tests/conftest.py names what is not there: {', '.join(gone)}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Whole files a worker; files that share results are as one."""
    if config.getoption("dist") != "loadfile":
        return None
    from tests.support.scheduling import SharingScheduling

    return SharingScheduling(config, log)


def pytest_collection_finish() -> None:
    """Search for reference cycles rarely, and never among what collecting the tests has made."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 50)
    gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m fast` nothing else is even imported."""
    if config.getoption("markexpr") != "fast" or collection_path.is_dir() or collection_path.name == "conftest.py":
        return None
    return None if _is_fast(collection_path) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the fast tests, leave long ones out that are not asked for, and bound the examples of properties."""
    if "long" not in str(config.getoption("markexpr")):
        _leave_out(config, items, {item for item in items if item.get_closest_marker("long")})
    part, most = PROFILES[str(config.getoption("examples"))]
    if most is not None and len(items) >= WHOLE_RUN:
        from tests.support.heavy import heavy_tests

        heavy = heavy_tests()
        _leave_out(config, items, {i for i in items if i.nodeid in heavy or i.get_closest_marker("heavy")})
    _leave_out(config, items, _spare_seeds(items, part))
    for item in items:
        if _is_fast(item.path) and not item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.fast)
        if most is None:
            continue
        # Where hypothesis keeps a test's settings: a profile alone yields to the number in the test's own decorator.
        test: object = getattr(item, "function", None)
        own: settings | None = getattr(test, SETTINGS, None)
        if own is not None and own.max_examples > FEW:
            setattr(test, SETTINGS, settings(own, max_examples=min(most, max(FEW, own.max_examples // part))))


def _is_fast(path: Path) -> bool:
    return any(path.is_relative_to(TESTS / name) for name in FAST)


def _leave_out(config: pytest.Config, items: list[pytest.Item], left_out: set[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def _spare_seeds(items: list[pytest.Item], part: int) -> set[pytest.Item]:
    """The tests with a `seed` that `part` does not divide, where the same test has many."""
    by_test: dict[tuple[Path, str], dict[pytest.Item, int]] = {}
    for item in items:
        seed: object = getattr(getattr(item, "callspec", None), "params", {}).get("seed")
        if isinstance(seed, int):
            by_test.setdefault((item.path, item.name.partition("[")[0]), {})[item] = seed
    many = [seeds for seeds in by_test.values() if len(set(seeds.values())) >= MANY_SEEDS]
    return {item for seeds in many for item, seed in seeds.items() if seed % part}
