"""The network between the devices as what ASTRA-sim 2 reads: the network, the system and the memory, a file each."""

from npuc.compiler.emit.base import Compiled, Emitted, Emitter


class AstraNetwork(Emitter):
    """The levels of the network that the devices of the program use, as files of ASTRA-sim 2."""

    folder = True

    def emit(self, compiled: Compiled) -> Emitted:
        """See `Emitter`."""
        from npuc.compiler.emit.traces.astra import network_files
        from npuc.hardware.network import latency_of, network_of

        machine = compiled.machine
        return network_files(network_of(machine, backend="astra-network"), compiled.module, latency_of(machine))


EMITTER = AstraNetwork()
