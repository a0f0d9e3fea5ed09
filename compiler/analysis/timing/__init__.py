"""How long a scheduled nest takes: tile operations in sequence, double buffers, epilogues."""
