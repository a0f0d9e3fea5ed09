"""Network files of ASTRA-sim: both versions read as levels, levels written as files, and what either refuses."""

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from npuc.compiler.analysis.interconnect.collectives import Collective, collective_cost
from npuc.compiler.analysis.interconnect.topology import GRIDS, KINDS, Interconnect, Kind, NetworkLevel
from npuc.compiler.core.errors import UsageError
from npuc.compiler.emit.traces.astra import network_files
from npuc.dialects.distributed.mesh import Mesh, MeshAttr
from npuc.hardware import load_hardware
from npuc.hardware.network import network_of
from npuc.hardware.readers.astra import read_astra_network
from npuc.hardware.readers.flat_yaml import read_items

SECOND = """# three dimensions, the innermost first
topology: [ Ring, FullyConnected, Switch ]  # of two, eight and four
npus_count: [ 2, 8, 4 ]

bandwidth:
  - 200.0
  - 100
  - 5e1
latency: [ 50.0, 500.0,
  2000.0 ]
"""
IN_JSON = (
    '{"topology": ["Ring", "FullyConnected", "Switch"],\n "npus_count": [2, 8, 4],\n'
    ' "bandwidth": [200.0, 100, 50.0], "latency":[50, 500, 2000]}\n'
)
FIRST = """{
  "topology-name": "Hierarchical",
  "topologies-per-dim": ["Ring", "FullyConnected", "Switch"],
  "dimension-type": ["N", "N", "P"],
  "dimensions-count": 3,
  "units-count": [2, 8, 2],
  "links-count": [2, 7, 1],
  "link-latency": [500, 500, 500],
  "link-bandwidth": [250, 25, 12.5],
  "nic-latency": [0, 10, 20],
  "router-latency": [0, 0, 700],
  "hbm-latency": [500, 500, 500],
  "hbm-bandwidth": [370, 370, 370],
  "hbm-scale": [0, 0, 0]
}
"""


@pytest.mark.parametrize("text", [SECOND, SECOND.replace("\n", "\r\n"), "---\n" + SECOND, IN_JSON])
def test_the_second_version(text: str) -> None:
    assert read_astra_network(text.replace("\r\n", "\n"), "n.yml") == [
        {"kind": "switch", "size": 4, "gb_per_s": 53.6870912, "latency_ns": 4000.0},
        {"kind": "fc", "size": 8, "gb_per_s": 751.6192768, "latency_ns": 500.0},
        {"kind": "pair", "size": 2, "gb_per_s": 214.7483648, "latency_ns": 50.0},
    ]


def test_a_ring_has_two_links() -> None:
    text = "topology: [Ring]\nnpus_count: [4]\nbandwidth: [80.0]\nlatency: [1000.0]\n"
    assert read_astra_network(text, "n.yml") == [
        {"kind": "ring", "size": 4, "gb_per_s": 171.79869184, "latency_ns": 1000.0}
    ]


def test_the_first_version() -> None:
    assert read_astra_network(FIRST, "n.json") == [
        {"kind": "switch", "size": 2, "gb_per_s": 12.5, "latency_ns": 1740.0},
        {"kind": "fc", "size": 8, "gb_per_s": 175.0, "latency_ns": 520.0},
        {"kind": "pair", "size": 2, "gb_per_s": 500.0, "latency_ns": 500.0},
    ]


def second(**changed: str) -> str:
    lists = {"topology": "[Ring, Switch]", "npus_count": "[4, 2]", "bandwidth": "[1, 2]", "latency": "[0, 0]"}
    return "".join(f"{key}: {value}\n" for key, value in {**lists, **changed}.items() if value)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", None, "found no keys, expected lists by key"),
        (second(latency=""), None, "an ASTRA-sim network file has 'latency', which is missing"),
        (second(topology="[Ring, Torus]"), "1:18", "topology: found 'Torus', expected Ring, FullyConnected, Switch"),
        (second(topology="[ring, Switch]"), "1:12", "topology: found 'ring'"),
        (second(topology="[]"), "1:1", "topology: found 0 dimensions, expected 1 to 64"),
        (second(topology="Ring"), "1:1", "topology: found 'Ring', expected a list with an entry a dimension"),
        (second(npus_count="[4]"), "2:1", "npus_count: found 1 entries, expected 2, one a dimension"),
        (second(npus_count="[4, 1]"), "2:17", "npus_count: found '1', expected an integer from 2"),
        (second(npus_count="[4, 2.0]"), "2:17", "npus_count: found '2.0', expected an integer from 2"),
        (second(npus_count='[4, "2"]'), "2:17", "npus_count: found '2', expected an integer from 2"),
        (second(bandwidth="[0, 1]"), "3:13", "bandwidth: found '0', expected a finite number above 0"),
        (second(bandwidth="[1, .nan]"), "3:16", "bandwidth: found '.nan', expected a finite number above 0"),
        (second(latency="[-1, 1]"), "4:11", "latency: found '-1', expected a finite number from 0"),
        (second(bandwidth="[1e999, 1]"), "3:13", "bandwidth: found '1e999', expected a finite number above 0"),
        (second(npus_count=f"[4, 1{19 * '0'}]"), "2:17", "0', expected an integer from 2 of at most 18 digits"),
        (second(latency=" "), "5:1", "found the end of the file, expected a value"),
        ("topology:\nnpus_count: [2]\n", "2:1", "found 'npus_count', expected a value of 'topology'"),
        ("topology:\n  - Ring\n  2\n", "3:3", "found '2', expected a key at the beginning of a line"),
        (second(latency="[1, 1"), "5:1", "found the end of the file, expected ','"),
        (second(latency="[1, [1]]"), "4:14", "found '[', expected a name or a number"),
        (second(latency="[1, &a 1]"), "4:14", "latency: found '&a 1', expected a finite number from 0"),
        (second(latency="{a: 1}"), "4:10", "found '{', expected a name or a number"),
        (second() + "latency: [1, 1]\n", "5:1", "found 'latency', expected each key once, first in line 4"),
        (second() + "  extra: 1\n", "5:3", "found 'extra', expected a key at the beginning of a line"),
        (second() + "lateny: [1, 2]\n", "5:1", "unknown key 'lateny' of an ASTRA-sim network file"),
        (second() + "npus-count: [1, 2]\n", "5:1", "unknown key 'npus-count' of an ASTRA-sim network file"),
        (second() + "a: 'b\n", "5:4", "found ''', expected a key, a list or a value"),
        (second() + "a\n", "6:1", "found the end of the file, expected ':'"),
        (IN_JSON + "x", "4:1", "found 'x', expected the end of the file"),
        (FIRST.replace("Hierarchical", "Torus"), "2:3", "topology-name: expected 'Hierarchical'"),
        (FIRST.replace('count": 3', 'count": 2'), "5:3", "dimensions-count: expected 3, as topologies-per-dim has"),
        (FIRST.replace("[2, 7, 1]", "[3, 7, 1]"), "7:19", "found 3, expected an even number of a Ring of 2"),
        (FIRST.replace("[2, 7, 1]", "[2, 8, 1]"), "7:22", "found 8, expected a multiple of 7 of a FullyConnected of 8"),
        (FIRST.replace("[0, 0, 0]", "[0, 1, 0]"), "14:20", "hbm-scale: found '1', expected 0: levels have no memories"),
    ],
)
def test_what_is_no_such_file(text: str, place: str | None, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_astra_network(text, "n.yml")
    assert message in caught.value.message
    found = caught.value.location
    assert (None if found is None else f"{found.line}:{found.col}") == place
    assert caught.value.render()


PIECES = st.sampled_from(
    [
        *("topology", "npus_count", "bandwidth", "latency", "units-count", "Ring", "Switch", "2", "-1", "1e999", "0"),
        *("1.7e308", "FullyConnected", "9" * 18),
        *(": ", ":", "[", "]", "{", "}", ", ", "- ", "\n", "\n  ", "#x", '"', "'", "\\", "\t", "é", "\x00", "9" * 40),
    ]
)


@given(text=st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        levels = read_astra_network(text, "n.yml")
    except UsageError as e:
        check_place(e, text)
    else:
        assert levels


def check_place(error: UsageError, text: str) -> None:
    lines = text.split("\n")
    if error.location is not None:
        assert 1 <= error.location.line <= len(lines)
        assert 1 <= error.location.col <= len(lines[error.location.line - 1]) + 1
    assert error.render()


@given(
    changed=st.dictionaries(
        st.sampled_from(["topology", "npus_count", "bandwidth", "latency"]), st.lists(PIECES, max_size=6).map("".join)
    )
)
def test_any_entry_is_read_or_refused(changed: dict[str, str]) -> None:
    try:
        assert read_astra_network(second(**changed), "n.yml")
    except UsageError as e:
        check_place(e, second(**changed))


WORDS = st.sampled_from(["Ring", "a-b", "x.y", "Fully Connected", "n2"])
NUMBERS = st.integers(-5, 99).map(str) | st.floats(-1e3, 1e3).map(lambda x: f"{x:.4f}")
LISTS = st.dictionaries(
    WORDS.map(lambda word: word.replace(" ", "_")), st.lists(WORDS | NUMBERS, min_size=1), min_size=1
)


@given(lists=LISTS, block=st.booleans())
def test_the_library_of_yaml_reads_the_same(lists: dict[str, list[str]], *, block: bool) -> None:
    yaml = pytest.importorskip("yaml")
    lines = [
        f"{key}:" + ("".join(f"\n  - {v}" for v in values) if block else f" [ {', '.join(values)} ]  # x")
        for key, values in lists.items()
    ]
    text = "\n".join(lines) + "\n"
    theirs = yaml.load(text, yaml.BaseLoader)
    assert {key: [item.text for item in items.entries] for key, items in read_items(text, "n").items()} == theirs


def levels() -> st.SearchStrategy[NetworkLevel]:
    def made(kind: Kind, size: int, rate: float, wait: float) -> NetworkLevel:
        return NetworkLevel(
            kind, 2 if kind == "pair" else size, Fraction(str(rate)) * 10**9, Fraction(str(wait)) / 10**9
        )

    rates = st.floats(0.1, 5000).map(lambda x: float(f"{x:.4g}"))
    waits = st.floats(0, 5000).map(lambda x: round(x, 3))
    kinds = [kind for kind in KINDS if kind not in GRIDS]
    return st.builds(made, st.sampled_from(kinds), st.integers(2, 9), rates, waits)


@given(found=st.lists(levels(), min_size=1, max_size=4), kind=st.sampled_from(get_args(Collective)))
def test_what_is_written_is_read_again(found: list[NetworkLevel], kind: Collective) -> None:
    network = Interconnect(tuple(found))
    files = cast("Mapping[str, str]", network_files(network, ModuleOp([])).content)
    again = network_of(load_hardware({"network.levels": read_astra_network(files["network.yml"], "n")}), backend="t")
    assert len(again.levels) == len(network.levels)
    for one, other in zip(network.levels, again.levels, strict=True):
        assert one.size == other.size
        assert (one.bytes_per_s, one.latency_s) == (other.bytes_per_s, other.latency_s)
        assert one.kind == other.kind or (one.size == 2 and other.kind == "pair" and one.kind in ("fc", "ring"))
    over = range(len(found))
    sizes = [level.size for level in found]
    cost, same = (collective_cost(kind, 10**6, one.place(sizes), over) for one in (network, again))
    assert cost.seconds == same.seconds
    assert cost.sent_by_level() == same.sent_by_level()


def test_a_torus_is_a_ring_for_each_dimension() -> None:
    torus = NetworkLevel("torus", 32, Fraction(300 * 10**9), Fraction(1, 10**6), sizes=(4, 8))
    network = Interconnect((NetworkLevel("switch", 4, Fraction(25 * 10**9)), torus))
    found = network_files(network, ModuleOp([]))
    content = cast("Mapping[str, str]", found.content)
    system = json.loads(content["system.json"])
    assert system["all-reduce-implementation"] == ["ring", "ring", "halvingDoubling"]
    again = network_of(load_hardware({"network.levels": read_astra_network(content["network.yml"], "n")}), backend="t")
    rings = [NetworkLevel("ring", size, Fraction(150 * 10**9), Fraction(1, 10**6)) for size in (4, 8)]
    assert again.levels == (network.levels[0], *rings)
    assert "ASTRA-sim goes over the dimensions of a torus one after the other" in found.warnings[0]


def test_what_astra_sim_has_no_topology_for() -> None:
    mesh = NetworkLevel("mesh", 16, Fraction(10**9), sizes=(4, 4))
    with pytest.raises(UsageError, match="level 1: ASTRA-sim has no topology for the kind 'mesh'"):
        network_files(Interconnect((mesh,)), ModuleOp([]))


def test_the_system_has_an_algorithm_a_dimension() -> None:
    network = Interconnect(
        tuple(
            NetworkLevel(kind, size, Fraction(10**9))
            for kind, size in cast("list[tuple[Kind, int]]", [("switch", 6), ("switch", 8), ("ring", 4), ("fc", 3)])
        )
    )
    found = network_files(network, ModuleOp([]))
    content = cast("Mapping[str, str]", found.content)
    system = json.loads(content["system.json"])
    for key in ("all-reduce", "all-gather", "reduce-scatter"):
        assert system[f"{key}-implementation"] == ["direct", "ring", "halvingDoubling", "direct"]
    assert system["all-to-all-implementation"] == ["direct", "ring", "direct", "direct"]
    assert json.loads(content["remote_memory.json"]) == {"memory-type": "NO_MEMORY_EXPANSION"}
    one, other = found.warnings
    assert one == "network.levels, level 1: ASTRA-sim has no halving and doubling of 6 devices, and direct in its place"
    assert "one way around a ring" in other


def test_a_hardware_file_names_one_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "cluster.yml").write_text(second())
    (tmp_path / "nets" / "m.toml").write_text('name = "m"\n[network]\nlevels = "cluster.yml"\n')
    monkeypatch.chdir(tmp_path)
    levels = load_hardware("nets/m.toml").get("network.levels")
    assert levels == read_astra_network(second(), "n")
    assert load_hardware("hypar16", {"network.levels": "nets/cluster.yml"}).get("network.levels") == levels
    assert load_hardware({"network": {"levels": "nets/cluster.yml"}}).get("network.levels") == levels
    assert load_hardware("nets/m.toml", {"network.levels": "nets/cluster.yml"}).get("network.levels") == levels
    (tmp_path / "nets" / "cluster.yml").write_text(second(npus_count="[8, 2]"))
    changed = load_hardware("nets/m.toml").get("network.levels")
    assert cast("list[dict[str, object]]", changed)[1]["size"] == 8


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("n.txt", second(), "network.levels: found 'n.txt', expected levels or a network file"),
        ("none.yml", None, "network.levels: cannot read network file 'none.yml'"),
        ("n.yml", second(bandwidth="[1, 9e6]") + "\n", None),
        ("n.yml", second(bandwidth="[1, 9.9e6]"), "n.yml, dimension 2 of 2: gb_per_s: expected a number above 0 to"),
        ("n.yml", second(npus_count="[1048577, 2]"), "n.yml, dimension 1 of 2: size: expected an integer from 2 to"),
        ("n.yml", second(bandwidth="[1.7e308, 1]"), "n.yml, dimension 1 of 2: gb_per_s: expected a number above 0 to"),
        ("n.yml", second(latency="[1, 1e308]"), "n.yml, dimension 2 of 2: latency_ns: expected a number from 0 to"),
        ("", second(), "network.levels: expected a list of tables or the name of a network file of ASTRA-sim, got an"),
    ],
)
def test_names_that_lead_to_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str | None, message: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None and name:
        Path(name).write_text(text)
    if message is None:
        load_hardware({"network.levels": name})
        return
    with pytest.raises(UsageError) as caught:
        load_hardware({"network.levels": name})
    assert message in caught.value.message


def test_a_name_in_a_hardware_file_has_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.toml").write_text('name = "m"\n[network]\nlevels = "none.yml"\n')
    with pytest.raises(UsageError, match="cannot read network file") as caught:
        load_hardware("m.toml")
    assert str(caught.value.location) == "m.toml:3:1"
    with pytest.raises(UsageError, match="cannot read network file") as caught:
        load_hardware("m.toml", {"network.levels": "other.json"})
    assert caught.value.location is None


def test_part_of_a_ring_is_refused() -> None:
    network = Interconnect((NetworkLevel("fc", 8, Fraction(7 * 10**9)), NetworkLevel("ring", 8, Fraction(10**9))))

    def on(*sizes: int) -> ModuleOp:
        func = FuncOp("f", ((), ()))
        func.attributes["dist.mesh"] = MeshAttr(Mesh(sizes))
        return ModuleOp([func])

    with pytest.raises(UsageError, match="level 2: 4 devices of a ring of 8 are no ring"):
        network_files(network, on(4))
    whole = cast("Mapping[str, str]", network_files(network, on(4, 8)).content)["network.yml"]
    assert "npus_count: [ 8, 4 ]" in whole
    assert read_astra_network(whole, "n")[0]["gb_per_s"] == 3.0, "links to three of seven"


def test_a_network_file_that_is_no_text_has_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("n.yml").write_bytes(second().encode() + b"\xff")
    Path("m.toml").write_text('name = "m"\n[network]\nlevels = "n.yml"\n')
    for hardware in ("m.toml", {"network.levels": "n.yml"}):
        with pytest.raises(UsageError, match="found the byte 0xff, which is not UTF-8") as caught:
            load_hardware(hardware)
        assert str(caught.value.location) == "n.yml:5:1"


@pytest.mark.parametrize(("algorithm", "said"), [(None, False), ("ring", False), ("mine", True)])
def test_other_algorithms_are_said(algorithm: str | None, *, said: bool) -> None:
    network = Interconnect((NetworkLevel("ring", 4, Fraction(10**9), algorithm=algorithm),))
    found = network_files(network, ModuleOp([])).warnings
    assert any(one == "network.levels, level 1: ASTRA-sim has ring in place of 'mine'" for one in found) == said
