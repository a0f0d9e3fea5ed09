"""What is in memory during a training step, and what computing values again saves."""
