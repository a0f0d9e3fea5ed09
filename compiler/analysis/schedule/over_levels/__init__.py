"""The search of schedules on machines with levels of memory between the scratchpads and DRAM."""
