"""A machine as schedules and costs see it, and what its array does with tiles."""

from npuc.compiler.analysis.machine.facts import Machine, machine_from

__all__ = ["Machine", "machine_from"]
