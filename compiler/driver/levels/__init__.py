"""What a level of -O stands for: its passes, those placed among them, and when each is needed."""
