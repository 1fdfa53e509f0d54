"""Local best response: an opponent that knows an agent's policy, and how much it wins."""
