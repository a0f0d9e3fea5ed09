"""Plans with unequal shares for heterogeneous devices."""
