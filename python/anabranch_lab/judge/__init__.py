"""Judgement of claims from the results of runs."""
