"""Files: texts and TOML that are read, outputs that are written whole or not at all, locks."""
