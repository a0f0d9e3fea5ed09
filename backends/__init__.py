"""Cost backends: `base` says what one is and finds them, `hardware` describes machines, each model has its folder."""
