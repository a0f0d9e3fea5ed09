"""What all other parts stand on: errors, options, checking a program, building one, code from outside."""
