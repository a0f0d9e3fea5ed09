"""The step as execution traces in the format of MLCommons Chakra, a file a device, for other simulators."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuc.compiler.emit.base import Compiled, Emitted, Emitter

if TYPE_CHECKING:
    from npuc.compiler.emit.traces.devices import Traces


class ChakraTraces(Emitter):
    """The step of each device as a trace `NETWORK.DEVICE.et`, and the communicator groups that they name, if any."""

    folder = True

    def emit(self, compiled: Compiled) -> Emitted:
        """See `Emitter`."""
        from npuc.compiler.emit.traces.communicators import Communicators
        from npuc.compiler.emit.traces.devices import GROUPS, SUFFIX, Traces
        from npuc.compiler.emit.traces.program import traced_step
        from npuc.compiler.emit.traces.schema import string
        from npuc.hardware.network import network_of

        report = compiled.report
        step = traced_step(compiled.module, report)
        communicators = None
        if step.mesh is not None:
            has_network = compiled.machine.get("network.levels") is not None
            network = network_of(compiled.machine, backend=report.backend) if has_network else None
            communicators = Communicators(step.mesh, None if network is None else network.place(step.mesh.sizes))
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", report.network) or "step"
        said = {"generator": f"npuc {report.npuc}", "network": report.network, "hardware": compiled.machine.name}
        traces = Traces(name, step, communicators, [string(key, value) for key, value in said.items()])
        family = rf"{name}(\.\d+{re.escape(SUFFIX)}|{re.escape(GROUPS)})"
        return Emitted(traces, note=_note(traces), family=family)


def _note(traces: Traces) -> str:
    """What is going to be written."""
    from npuc.compiler.report.text.quantities import bytes_unit

    count = "1 trace" if traces.devices == 1 else f"{traces.devices:,} traces"
    most = "up to " if traces.varies_in_nodes else ""
    scale, unit = bytes_unit(traces.size)
    return f"writing {count} of {most}{traces.most_nodes:,} nodes, {traces.size / scale:,.1f} {unit}"


EMITTER = ChakraTraces()
