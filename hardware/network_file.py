"""
`network.levels` as the name of a network file of ASTRA-sim, in place of the levels themselves.

    [network]
    levels = "cluster.yml"      # beside the hardware file; with --set, from where npuc runs
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.files.texts import text_of_file
from npuc.compiler.core.kinds import Value, WrongValue
from npuc.hardware.readers.astra import SUFFIXES, read_astra_network
from npuc.hardware.schema import KEYS
from npuc.hardware.together import Contradiction

NETWORK = "network.levels"


def with_network_file(values: Mapping[str, Value], home: Path) -> dict[str, Value]:
    """
    A description whose levels are those of the file that it names, if it names one; the name counts from `home`.

    Raises `Contradiction` for a file that cannot be opened, `UsageError` for one that is no text or describes no levels
    that the schema allows.
    """
    name = values.get(NETWORK)
    if not isinstance(name, str):
        return dict(values)
    if not name.lower().endswith(SUFFIXES):
        hint = f"the name of a network file of ASTRA-sim ends in {', '.join(SUFFIXES)}"
        raise Contradiction(NETWORK, f"{NETWORK}: found '{name}', expected levels or a network file", hint)
    path = home / name
    try:
        text = text_of_file(path, str(path), "network file")
    except UsageError as e:
        if e.location is not None:
            raise  # a place in the network file
        hint = "the name counts from the folder of the hardware file that has it, else from here"
        raise Contradiction(NETWORK, f"{NETWORK}: {e.message}", hint) from None
    rows = read_astra_network(text, str(path))
    try:
        return {**values, NETWORK: KEYS[NETWORK].kind.read(rows)}
    except WrongValue as e:
        number = len(rows) - (e.entry or 0)
        raise UsageError(f"{path}, dimension {number} of {len(rows)}: {e.reason}") from None
