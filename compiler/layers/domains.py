"""What the values of an operand are like, where not every number makes sense: for data that is made."""

from enum import StrEnum


class Domain(StrEnum):
    """Values that an operand is meant to have."""

    INSIDE = "between 0 and 1"
    """Numbers between 0 and 1, both excluded: also what logarithms, roots and inverse functions take."""
    EITHER = "0 or 1"
    SHARES = "shares of 1"
    """Numbers of at least 0 that add up to 1 along the last axis."""
    LOG_SHARES = "logarithms of shares of 1"
