"""`npuc reuse`: outputs, wrong usage, and that it reads a program as compiling does."""

import csv
import io
import json

import pytest

from npuc.compiler import compile_file
from tests.unit.cli.test_commands import Npuc

SCOPES = ["adjacent", "block", "recurrent", "forward-backward", "update"]


def test_a_table_and_a_verdict(npuc: Npuc) -> None:
    outcome = npuc("reuse", "net.dsl")
    assert outcome.status == 0
    lines = outcome.out.splitlines()
    assert lines[0] == "mlp (net.dsl): reuse in a training step on rtx2080ti, 55 MiB of cache"
    named = [line.split()[0] for line in lines if line.strip()]
    assert [name for name in named if name in (*SCOPES, "intra-layer", "total")] == ["intra-layer", *SCOPES, "total"]
    assert lines[-1] == "verdict   A cache of 55 MiB captures all reuse between steps."
    assert outcome.err == ""


def test_json_and_csv_say_the_same(npuc: Npuc) -> None:
    outcome = npuc("reuse", "net.dsl", "-q", "--json", "-", "--csv", "scopes.csv", "-D", "batch=7")
    assert outcome.err == ""
    data = json.loads(outcome.out)
    assert data["schema"] == "npuc.reuse/1"
    assert data["defines"] == {"batch": 7}
    assert [row["scope"] for row in data["scopes"]] == SCOPES
    with open("scopes.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row, scope in zip(rows, [data["within"], *data["scopes"], data["total"]], strict=True):
        assert row["scope"] == scope["scope"]
        assert int(row["bytes"]) == scope["bytes"] == scope["read_bytes"] + scope["write_bytes"]
        assert row["captured_90_from_bytes"] == str(scope["captured_from"]["90"] or "")
    assert sum(row["bytes"] for row in data["scopes"]) == data["total"]["bytes"]


@pytest.mark.parametrize("plan", ["best", "single"])
@pytest.mark.parametrize("kib", [8, 20])
def test_traffic_is_that_of_compiling(npuc: Npuc, plan: str, kib: float) -> None:
    """Without reuse less what is captured; the plan for time moves no fewer bytes, a single one as many."""
    settings = {"memory.cache_mib": kib / 1024, "roofline.plan": plan}
    keys = [f"--set={key}={value}" for key, value in settings.items()]
    data = json.loads(npuc("reuse", "net.dsl", "-D", "batch=64", "-D", "hidden=64", "--json", "-", *keys).out)
    defines = {"batch": 64, "hidden": 64}
    totals = compile_file("net.dsl", backend="roofline", defines=defines, overrides=settings).totals
    assert data["without_bytes"] - data["total"]["captured_bytes"] == data["traffic_bytes"]
    assert data["compulsory_bytes"] == totals.lower_bound_bytes
    moved = (totals.dram_read_bytes or 0) + (totals.dram_write_bytes or 0)
    assert data["traffic_bytes"] == moved if plan == "single" else data["traffic_bytes"] <= moved
    assert data["next"]["capacity_bytes"] > data["capacity_bytes"]
    (point,) = [p for p in data["curve"] if p["capacity_bytes"] == data["next"]["capacity_bytes"]]
    assert data["traffic_bytes"] - point["traffic_bytes"] == data["next"]["saved_bytes"]


def test_the_forward_pass_alone(npuc: Npuc) -> None:
    outcome = npuc("reuse", "net.dsl", "--inference", "-q", "--csv", "-")
    rows = {row["scope"]: int(row["bytes"]) for row in csv.DictReader(io.StringIO(outcome.out))}
    assert rows["forward-backward"] == rows["update"] == 0
    assert rows["adjacent"] > 0
    assert "forward pass" in npuc("reuse", "net.dsl", "--inference").out


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--json", "-", "--csv", "-"), 2, "both want standard output"),
        (("--csv", "nowhere/rows.csv"), 2, "its folder does not exist"),
        (("--hw", "no-such"), 2, "no-such"),
        (("-D", "btch=3"), 2, "unknown network parameter 'btch'"),
        (("--set", "memory.cache_mib=0.00001"), 3, "for one row of each of its tensors"),
    ],
)
def test_errors(npuc: Npuc, arguments: tuple[str, ...], status: int, message: str) -> None:
    outcome = npuc("reuse", "net.dsl", *arguments)
    assert outcome.status == status
    assert message in outcome.err
    assert outcome.out == ""
