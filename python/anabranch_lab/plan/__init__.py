"""Plans of runs: sweeps, the studies that they belong to, and the claims made beforehand."""
