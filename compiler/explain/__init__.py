"""How plans for many devices come about: what `npuc explain --devices` shows."""
