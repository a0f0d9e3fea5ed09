"""The step as execution traces in the format of MLCommons Chakra, a file a device, for other simulators."""

import re

from npuc.compiler.emit.base import Compiled, Emitted, Emitter


class ChakraTraces(Emitter):
    """The step of each device as a trace `NETWORK.DEVICE.et`, and the communicator groups that they name, if any."""

    folder = True

    def emit(self, compiled: Compiled) -> Emitted:
        """See `Emitter`."""
        from npuc.compiler.emit.traces.communicators import Communicators
        from npuc.compiler.emit.traces.devices import Traces
        from npuc.compiler.emit.traces.program import step_of
        from npuc.compiler.emit.traces.schema import string
        from npuc.hardware.network import network_of

        report = compiled.report
        step = step_of(compiled.module, report)
        communicators = None
        if step.mesh is not None:
            has_network = compiled.machine.get("network.levels") is not None
            network = network_of(compiled.machine, backend=report.backend) if has_network else None
            communicators = Communicators(step.mesh, None if network is None else network.place(step.mesh.sizes))
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", report.network) or "step"
        said = {"generator": f"npuc {report.npuc}", "network": report.network, "hardware": compiled.machine.name}
        traces = Traces(name, step, communicators, [string(key, value) for key, value in said.items()])
        return Emitted(traces, note=_note(traces.devices, len(step.tasks), traces.size))


def _note(devices: int, tasks: int, size: int) -> str:
    """What is going to be written."""
    from npuc.compiler.report.text.quantities import bytes_unit

    traces = "1 trace" if devices == 1 else f"{devices:,} traces"
    scale, unit = bytes_unit(size)
    return f"writing {traces} of {tasks:,} nodes, {size / scale:,.1f} {unit}"


EMITTER = ChakraTraces()
