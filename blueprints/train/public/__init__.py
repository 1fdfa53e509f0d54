"""Public chance sampling: a board is dealt, both players hold every hand it allows."""
