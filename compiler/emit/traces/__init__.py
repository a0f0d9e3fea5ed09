"""Execution traces: a scored program as the nodes of each device, encoded by the schema of MLCommons Chakra."""
