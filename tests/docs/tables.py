"""
The tables of docs/hardware.md that come from the program, between markers.

    python -m tests.docs.tables          writes them anew
"""

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from npuc.backends.registry import built_in
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.kinds import Flag, Integer, Limit, OneOf, Real, Rows, Text, Value
from npuc.compiler.core.options import UNLIMITED
from npuc.compiler.driver.compile import compile_source
from npuc.compiler.reference.keys import kind_words, toml_text
from npuc.hardware import KEYS, PRESETS, Hardware, derive, load_hardware, preset_names
from npuc.hardware.derive import RULES
from npuc.hardware.memories import MEMORIES
from npuc.hardware.technology import mac_area, mac_energy, sram_area, sram_energy
from tests.docs.pages import FOLDER

NETWORK = """
network net(batch=4) {
  input x: f32[batch, 8]
  input y: f32[batch, 4]
  a = linear(x, 8)
  b = linear(x, 8)
  h = relu(a) + sigmoid(b)
  loss mse(linear(h, 4), y)
  optimizer sgd(lr=0.1)
}
"""
TABLE = "layer,M,N,K,N:M\nfc,48,48,48,2:4\n"
PORTS = {"ifmap_port": 1, "filter_port": 1, "psum_port": 1}
FULL: dict[str, object] = {
    "name": "full",
    "clock_mhz": 1000,
    "array": {"rows": 4, "cols": 4, "ifmap_words": 4, "filter_words": 8, "psum_words": 2} | PORTS,
    "memory": {"spm_kib": 64, "element_bytes": 2, "cache_mib": 1},
    "dram": {"gb_per_s": 8.0},
    "vector": {"lanes": 4},
    "compute": {"tflops": 1.0},
    "energy": {"mac_pj": 1.0, "spm_pj_per_byte": 1.0, "dram_pj_per_byte": 1.0},
    "scalesim": {"ifmap_sram_kb": 1, "filter_sram_kb": 1, "ofmap_sram_kb": 1},
    "maestro": {"num_pes": 8, "mapping": "kcp_ws"},
    "units": [{"name": "a", "kind": "dense", "pes": 4, "buffer_kib": 1}],
}
MODES: tuple[dict[str, object], ...] = (
    {},
    {"cycle.compat": "scalesim3", "scalesim.sparsity": True},
    {"array.dataflow": "in-place"},
    {"array.dataflow": "rs"},
    {"array.cores": 4},
    {"array.dataflow": "ws", "array.overlap": "wlbp"},
    {"memory.cache_mib": 0.0006},
    {"memory.cache_mib": 0.0006, "roofline.plan": "single"},
)
"""The modes of backends in which keys may count."""
PROGRAMS = ((NETWORK, "dsl"), (TABLE, "csv"))


def begin(name: str) -> str:
    """The marker before a table."""
    return f"<!-- {name} -->\n"


def end(name: str) -> str:
    """The marker behind a table."""
    return f"<!-- end of {name} -->"


def filled(text: str, tables: Mapping[str, Iterable[str]]) -> str:
    """A page with other rows between the markers of its tables."""
    for name, rows in tables.items():
        head, rest = text.split(begin(name))
        _, tail = rest.split(end(name))
        text = head + begin(name) + "".join(f"{row}\n" for row in rows) + end(name) + tail
    return text


def with_tables(text: str) -> str:
    """The page with its tables made anew."""
    tables = {"keys": key_rows(), "presets": preset_rows(), "derived": derived_rows()}
    return filled(text, tables | {"nodes": node_rows(), "memories": memory_rows()})


def node_rows() -> Iterator[str]:
    """A row a technology node: energies and areas."""
    yield "| nm | MAC int8, pJ | bf16 | f32 | SRAM 32 KiB, pJ/B | 8 MiB | MAC bf16, um2 | SRAM, mm2/MiB |"
    yield "|---|---|---|---|---|---|---|---|"
    for node in (130, 90, 65, 45, 28, 20, 16, 10, 7, 5, 3):
        macs = [mac_energy(number, node) for number in ("int8", "bf16", "f32")]
        values = [*macs, sram_energy(32, node), sram_energy(8192, node), 1e6 * mac_area("bf16", node)]
        yield f"| {node} | {' | '.join(f'{value:,.3g}' for value in [*values, sram_area(1024, node)])} |"


def memory_rows() -> Iterator[str]:
    """A row a kind of memory."""
    yield "| kind | GB/s | pJ a bit | mm2 a MiB | $ a GiB | idle W a GiB | source |"
    yield "|---|---|---|---|---|---|---|"
    for kind, one in MEMORIES.items():
        numbers = (one.gb_per_s, one.pj_per_bit, one.mm2_per_mib, one.usd_per_gib, one.idle_w_per_gib)
        yield f"| `{kind}` | {' | '.join(f'{number:,g}' for number in numbers)} | {one.source} |"


def derived_rows() -> Iterator[str]:
    """A row a rule: the key, what it follows from, and how."""
    yield "| key | follows from | as |"
    yield "|---|---|---|"
    for rule in RULES:
        yield f"| `{rule.key}` | {', '.join(f'`{path}`' for path in rule.inputs)} | {rule.words} |"


def key_rows() -> Iterator[str]:
    """A row a key: what it means, what it may be, its default, and what the backends do with it."""
    yield "| key | meaning | value | default | backends |"
    yield "|---|---|---|---|---|"
    uses = {name: uses_of(name) for name in built_in()}
    for path, key in KEYS.items():
        default = "" if key.default is None else f"`{toml_text(key.default)}`"
        by = [f"`{name}` {found[path]}" for name, found in uses.items() if path in found]
        yield f"| `{path}` | {key.meaning} | {kind_words(key.kind)} | {default} | {', '.join(by)} |"


def uses_of(backend: str) -> dict[str, str]:
    """
    What a backend does with each key, found by trying values.

    A key is needed when nothing can be scored without it, and read when another value changes the score.
    """
    uses: dict[str, str] = {}
    complete = load_hardware(FULL)
    cases = list[_Case]()
    for mode in MODES:
        found = [_case(backend, mode, program) for program in PROGRAMS]
        # a mode that the backend does not read is the plain one
        if not mode or any(case.reads & set(mode) for case in found):
            cases += found
    for path in KEYS:
        if path == "name":
            continue
        if complete.written(path) and _fails(backend, path):
            uses[path] = "needs"
            continue
        others = _others(complete, path)
        read, refused = False, list[Value]()
        for value in others:
            counts = is_refused = False
            for case in cases:
                changed = case.mode | {path: value}
                if path not in case.reads or case.mode.get(path) == value or not _loads(changed):
                    continue
                new = _scored_if_right(backend, changed, case.program)
                is_refused |= new is None
                if new is not None and new != case.score:
                    counts = True
                    break
            read |= counts
            if not counts and is_refused:
                refused.append(value)
        if refused and len(refused) == len(others):
            uses[path] = "takes only the default"
        elif read:
            uses[path] = "reads" + "".join(f", refuses `{toml_text(value)}`" for value in refused)
    return uses


@dataclass(frozen=True)
class _Case:
    """A program on the complete machine in a mode: its score, and the keys that are read for it."""

    mode: dict[str, object]
    program: tuple[str, str]
    score: object
    reads: set[str]


def _case(backend: str, mode: dict[str, object], program: tuple[str, str]) -> _Case:
    with _recorded_reads() as reads:
        return _Case(mode, program, _scored(backend, mode, program), reads)


@contextmanager
def _recorded_reads() -> Generator[set[str]]:
    """The keys that are read within; whatever is not read has no effect."""
    reads = set[str]()
    get, written = Hardware.get, Hardware.written

    def recorded_get(self: Hardware, key: str, kind: Any = None) -> Any:
        reads.add(key)
        return get(self, key, kind) if kind is not None else get(self, key)

    def recorded_written(self: Hardware, key: str) -> bool:
        reads.add(key)
        return written(self, key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Hardware, "get", recorded_get)
        patch.setattr(Hardware, "written", recorded_written)
        yield reads


def _others(complete: Hardware, path: str) -> list[Value]:
    """Values of a key that differ from the one of the complete machine."""
    value = complete.get(path)
    match KEYS[path].kind:
        case Integer() as kind:
            return [2 * value if isinstance(value, int) and 2 * value <= kind.most else kind.least]
        case OneOf() as kind:
            return [choice for choice in kind.choices if choice != value]
        case Limit():
            return [2 * value if isinstance(value, int) else 1, UNLIMITED]
        case Real() as kind:
            return [2 * value if isinstance(value, float) else max(1.0, 2 * kind.least)]
        case Flag():
            return [flag for flag in (True, False) if flag is not value]
        case Text() as kind:
            choices = ("rs",) if path == "maestro.mapping" else kind.choices
            return [choice for choice in choices if choice != value]
        case Rows():
            return []


def _fails(backend: str, path: str) -> bool:
    """Whether nothing can be scored without a key, where nothing is derived."""
    values = {key: value for key, value in load_hardware(FULL).values.items() if key != path}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(derive, "RULES", ())
        try:
            compile_source(NETWORK, backend=backend, hardware=values)
        except UsageError:
            return True
    return False


def _loads(changed: dict[str, object]) -> bool:
    """Whether there is such a machine, whoever scores on it."""
    try:
        load_hardware(FULL, changed)
    except UsageError:
        return False
    return True


def _scored_if_right(backend: str, changed: dict[str, object], program: tuple[str, str]) -> object:
    """As `_scored`; None for hardware that is refused."""
    try:
        return _scored(backend, changed, program)
    except UsageError:
        return None


def _scored(backend: str, changed: dict[str, object], program: tuple[str, str]) -> object:
    # at -O0: the passes of the other levels read no key that schedules do not
    report = compile_source(*program, backend=backend, hardware=FULL, overrides=changed, opt_level=0)
    return report.ops, report.totals, report.native


def preset_rows() -> Iterator[str]:
    """A row a preset: its summary, the backends that can use it, and where its values come from."""
    yield "| preset | machine | backends | source |"
    yield "|---|---|---|---|"
    for name in preset_names():
        machine = load_hardware(name)
        usable = [f"`{backend}`" for backend in built_in() if _usable(backend, name)]
        yield f"| `{name}` | {machine.summary()} | {', '.join(usable)} | {_source(name)} |"


def _usable(backend: str, name: str) -> bool:
    try:
        compile_source(NETWORK, backend=backend, hardware=name)
    except UsageError:
        return False
    return True


def _source(name: str) -> str:
    """The first comment of a preset's file."""
    lines: list[str] = []
    for line in (PRESETS / f"{name}.toml").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return " ".join(lines)


if __name__ == "__main__":
    page = FOLDER / "hardware.md"
    page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
