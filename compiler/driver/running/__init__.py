"""What is asked of a run, and the passes before it."""
