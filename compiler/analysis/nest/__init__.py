"""A scheduled loop nest: its blocks, their traffic, and lower bounds over all schedules."""
