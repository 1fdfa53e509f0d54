"""Dealer, match runner and scoring."""
