"""The published methods on chains of layers: level by level, joint, by name."""
