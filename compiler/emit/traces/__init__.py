"""Execution traces: a scored program as the nodes of each device, and their encoding by the schema of MLCommons Chakra."""
