"""What a collective costs on the network between devices: where its devices lie, its bytes, its time, its energy."""
