"""What a mapping costs when every tile counts as large as it is: MAESTRO's machine without its approximations."""
