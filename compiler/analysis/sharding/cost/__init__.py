"""What a plan costs: movement, collectives, time, memory of a device."""
