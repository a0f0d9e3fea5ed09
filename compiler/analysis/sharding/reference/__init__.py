"""The published methods on chains of layers: strategies by name, level by level, and joint."""
