"""Monte Carlo counterfactual regret minimisation: how blueprints are made, and what they are worth.

job         a training from its configuration to its file
trainer     a run: periods, each kept in a `checkpoint`, and going on; what a form of sampling is
public      public chance sampling
external    external sampling
merge       one strategy of several
measures    what a strategy is worth
price       what a configuration will cost
"""
