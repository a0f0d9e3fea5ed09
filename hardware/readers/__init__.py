"""Hardware files of other tools, and places in TOML files."""
