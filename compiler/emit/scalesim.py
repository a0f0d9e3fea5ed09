"""The program and the machine as SCALE-Sim's topology and configuration."""

from npuc.compiler.emit.base import Compiled, Emitted, Emitter


class ScaleSimFiles(Emitter):
    """The products of the program as a topology of SCALE-Sim, the machine as its configuration."""

    folder = True
    backend = "cycle"
    refusal = "SCALE-Sim's files come from the backend 'cycle' alone"

    def emit(self, compiled: Compiled) -> Emitted:
        """See `Emitter`."""
        from npuc.backends.cycle.export import topology_files

        export = topology_files(compiled.module, compiled.machine)
        return Emitted(export.files, tuple(export.warnings))


EMITTER = ScaleSimFiles()
