"""
Writes the reference values that the tests use where PyTorch is not installed.

    python -m tests.pytorch.store
"""

import json
from importlib import import_module
from pkgutil import iter_modules

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tests.calls
from tests.calls import Call, Draw
from tests.calls.stored import FOLDER, Stored
from tests.calls.values import build, random_values
from tests.pytorch.counterparts import RANDOM, judge

EXAMPLES, KEPT, MOST_VALUES = 12, 3, 600


def drawn(draw: Draw) -> list[Call]:
    """The last few of the calls that are drawn without chance; the first ones are the simplest."""
    found: list[Call] = []

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def collect(data: st.DataObject) -> None:
        call = draw(data)
        if call not in found:
            found.append(call)

    collect()
    return found[-KEPT:]


def stored(name: str, draw: Draw) -> list[Stored]:
    """The judged calls of one name; those with many values are left out."""
    judged: list[Stored] = []
    for seed, call in enumerate(drawn(draw)):
        net = build(call)
        values = random_values(call, net, seed)
        if sum(v.size for v in values.values()) <= MOST_VALUES:
            judgement = judge(call, net, values)
            judged.append(Stored(name, call, values, judgement.outputs, judgement.gradients))
    return judged


def main() -> None:
    """Renew all files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.json"):
        old.unlink()
    for info in iter_modules(tests.calls.__path__):
        calls: dict[str, Draw] = getattr(import_module(f"tests.calls.{info.name}"), "CALLS", {})
        found = [s for name, draw in calls.items() if name.split()[0] not in RANDOM for s in stored(name, draw)]
        if found:
            lines = ",\n".join(json.dumps(one.to_json()) for one in found)
            (FOLDER / f"{info.name}.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
