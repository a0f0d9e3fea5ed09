"""Plans for many devices, as reports show them: their options, names and errors."""
