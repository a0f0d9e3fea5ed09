"""A request becomes a report or a run: read, lower, score; run, check."""
