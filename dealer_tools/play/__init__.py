"""A person against an agent, at one terminal."""
