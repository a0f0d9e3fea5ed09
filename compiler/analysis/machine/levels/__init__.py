"""Several levels of memory on the chip."""
