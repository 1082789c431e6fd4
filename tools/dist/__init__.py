"""Makes and tries the packages of a release: `make dist`, `make dist-check`."""
