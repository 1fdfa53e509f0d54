"""Card and betting abstraction, MCCFR trainer, storage and lookup of the precomputed strategy."""
