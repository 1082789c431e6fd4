"""Runs other SCTP stacks against ours and shows which cases work: `make interop`."""
