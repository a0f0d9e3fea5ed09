"""Pure functions that say what a program does and costs: IR or plain data in, plain data out; nothing is changed."""
