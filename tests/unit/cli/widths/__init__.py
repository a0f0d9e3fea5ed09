"""What verbs print on terminals of several widths, written down: `python -m tests.unit.cli.widths` writes it anew."""
