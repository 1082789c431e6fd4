"""Runs other SCTP stacks against ours and says what works: `make interop`."""
