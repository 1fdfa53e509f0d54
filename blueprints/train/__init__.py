"""Training a blueprint: Monte Carlo CFR by public chance sampling or external sampling, periods, checkpoints."""
