"""What is to be run: plans, the studies they lie in, what is claimed beforehand."""
