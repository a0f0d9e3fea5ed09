"""The program `npuc`: takes over signals before anything else is loaded, then runs the command line."""

from npuc.compiler.core import interrupts


def main() -> None:
    """Run the command line and exit with its status."""
    interrupts.install()
    from npuc.compiler.cli import main as run

    run()
