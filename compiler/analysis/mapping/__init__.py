"""What a mapping costs: its levels, the cases of each, what they move and how long they take."""
