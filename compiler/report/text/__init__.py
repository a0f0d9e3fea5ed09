"""Reports as text: tables, lines below them, and the verdict."""
