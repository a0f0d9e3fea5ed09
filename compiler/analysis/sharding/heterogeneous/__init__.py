"""Plans with unequal shares for unlike devices."""
