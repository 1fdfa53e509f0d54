"""Values of leaves by a network that has learnt from roll-outs."""
