"""Reports for people: tables, lines below them, and the verdict."""
