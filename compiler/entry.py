"""
The program `npuc`: takes over signals before anything else is loaded, then answers a command whose result it has, or
runs the command line.
"""


def main() -> None:
    """Run the command line and exit with its status."""
    import gc
    import signal

    gc.disable()  # what is imported stays: see `without_cycle_collection`

    # Signals wait while what answers them loads: Python would answer with a traceback.
    hold = getattr(signal, "pthread_sigmask", None)  # not on Windows
    before = None if hold is None else hold(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    from npuc.compiler.core import interrupts

    interrupts.install()
    if hold is not None:
        hold(signal.SIG_SETMASK, before)
    import os
    import sys

    from npuc.compiler.core.cache.command import Command

    command = Command(sys.argv[1:], os.environ)
    status = command.replayed()
    if status is not None:
        sys.exit(status)
    from npuc.compiler.cli import main as run

    run(command=command)
