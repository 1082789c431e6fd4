"""Runs: how they are made, where they are kept, and measures of them."""
