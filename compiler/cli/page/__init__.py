"""Pages of results: `--html`, one file each."""
