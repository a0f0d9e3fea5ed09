"""Plans for many devices as the report has them: options, names, and errors."""
