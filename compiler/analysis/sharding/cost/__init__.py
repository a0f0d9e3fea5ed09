"""Costs of a plan: communication, time, and memory of a device."""
