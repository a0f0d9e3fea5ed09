"""Methods of training on accelerators, all on one network and machine: what each costs, and what a short run learns."""
