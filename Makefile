# What a person types. `make help` lists it.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
# Two compilers at a time unless told otherwise: more only helps on larger machines.
CARGO_BUILD_JOBS ?= 2
export CARGO_BUILD_JOBS
# Tests and demo start hundreds of Python processes: what one has compiled the next one reads, whatever the caller's environment says.
unexport PYTHONDONTWRITEBYTECODE
PY     := .venv/bin/python
LAB    := .venv/bin/anabranch-lab
STUDY  ?= satellite-2005
SEEDS  ?= 1..5
FLAGS  ?=
LIVES  ?= 100000
FUZZ_SECONDS ?= 60
SECONDS ?= 3600

.PHONY: help demo test test-rust test-python build wheel venv lint rfc-doc bench bench-peers bench-paths instructions program dist dist-check msrv soak soak-live exhaustive fuzz interop interop-quick interop-python report reference studies site docs-check clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-13s %s\n", $$1, $$2 }'

demo: build ## build, run the satellite study with SEEDS=1..5, say what it found, write out/report/index.html
	@$(LAB) run $(STUDY) --jobs $(JOBS) $(if $(SEEDS),--seeds $(SEEDS)) $(FLAGS)
	@$(LAB) report --study $(STUDY) $(if $(SEEDS),--seeds $(SEEDS)) $(FLAGS)

test: test-rust test-python ## every test of every language

test-rust:
	cargo test --workspace --locked

# The tests of a file run in one process, and share what it has made.
test-python: build
	$(PY) -m pytest --numprocesses $(JOBS) --dist loadfile

# Packages are fetched while crates are compiled: all that the module needs but itself, which maturin builds with settings of its own.
build: ## the Python module, and with it the simulator
	@echo "building the simulator for Python"
	@cargo build --profile python --locked --quiet -p anabranch-sim --features anabranch-sim/watched & crates=$$!; \
	status=0; bash tools/prepare.sh || status=$$?; wait $$crates || status=$$?; exit $$status
	@# cargo's progress goes to stderr; what uv finds already installed is of no interest.
	@VIRTUAL_ENV="$(CURDIR)/.venv" $(PY) -m maturin develop --uv --locked >/dev/null

wheel: build ## out/wheel/: a wheel with the module, the laboratory and the program `anabranch`
	@$(PY) tools/wheel.py

venv: ## .venv with the pinned Python packages
	@bash tools/prepare.sh

lint: venv ## formatting, lints, documentation, circles and wide types, sentences of RFCs; warnings are errors
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	cargo run --locked --quiet -p xtask -- check
	$(PY) tools/check_circles.py
	$(PY) tools/rfc.py --check

rfc-doc: ## out/docs/rfc.md: where each sentence of the RFCs is implemented and tested
	python3 tools/rfc.py

bench: ## speed: the simulator beside ns-2, and the stack in memory
	@bash benches/run.sh

bench-peers: ## what each SCTP stack costs over UDP on loopback, ours and others; out/bench-peers
	@PYTHONPATH=tools python3 -m interop.bench $(FLAGS)

bench-paths: ## goodput of SCTP stacks over the same paths in virtual time, ours and others
	@cd benches/peers && cargo run --profile paths --locked --quiet --target-dir ../../target/peers -p peer-paths -- $(FLAGS)

instructions: ## instruction counts of fixed work, against the accepted ones
	cargo build --profile dist --locked --quiet -p anabranch-bench
	@$(MAKE) --no-print-directory program
	@python3 benches/instructions.py "$${CARGO_TARGET_DIR:-target}/dist"

# Static, so that what is counted can be packed, too, where there is no musl.
program: ## target/dist/anabranch: fast to run, minutes to build, needs no library
	cargo rustc --profile dist --locked --quiet -p anabranch-cli --bin anabranch -- -C target-feature=+crt-static

dist: build ## packages of a release in out/dist: crates, static programs, deb, container image, wheel, SBOM; FLAGS="PART ..."
	@PYTHONPATH=tools $(PY) -m dist $(FLAGS)

dist-check: venv ## installs each package of out/dist where there is nothing else, and uses it
	@PYTHONPATH=tools $(PY) -m dist.check $(FLAGS)

msrv: ## compiles everything with the oldest Rust that Cargo.toml promises (from Debian's packages)
	@PYTHONPATH=tools python3 -m dist.msrv

report: build ## judge and draw again what is on disk
	@$(LAB) report $(FLAGS)

studies: build ## every experiment of every study at full seeds, and the whole report; goes on where it stopped
	@$(LAB) studies --jobs $(JOBS) $(FLAGS)

soak: ## LIVES=100000 random lives of two endpoints against the formal properties
	LIVES=$(LIVES) cargo test --profile soak --locked -p anabranch-sctp --test properties --test wild --test all -- --ignored --nocapture --skip one

soak-live: ## SECONDS=3600 of peers that come and go over real sockets and a network with faults
	SOAK_SECONDS=$(SECONDS) cargo test --locked --workspace --test soak -- --nocapture

exhaustive: ## every life in a small scope, and every pair of 16-bit numbers: minutes (docs/reference/properties.md)
	cargo test --profile soak --locked -p anabranch-sctp --test exhaustive -- --ignored --nocapture --test-threads 1
	cargo test --profile soak --locked -p anabranch-wire --lib -- --ignored

interop: ## every other SCTP stack against ours, in both roles, every case; out/interop/matrix.html
	@PYTHONPATH=tools python3 -m interop $(FLAGS)

interop-quick: ## the stacks that are crates, five cases
	@PYTHONPATH=tools python3 -m interop --quick $(FLAGS)

interop-python: ## asyncio against the drivers that interop-quick or interop has built; needs `make build`
	@ANABRANCH_PEERS=required $(PY) -m pytest --quiet python/tests/test_aio_peers.py

fuzz: ## every fuzz target for FUZZ_SECONDS=60
	@bash tools/fuzz.sh $(FUZZ_SECONDS)

reference: build ## the whole comparison with ns-2, all seeds
	ANABRANCH_REFERENCE=full $(PY) -m pytest -m reference

clean: ## everything that was built or run here
	rm -rf target out .venv python/anabranch/_core*.so .pytest_cache .ruff_cache

site: venv ## out/site/VERSION: the documentation as a site, its links checked; needs the program (`cargo build -p anabranch-cli`)
	@NO_MKDOCS_2_WARNING=1 $(PY) tools/site.py $(FLAGS)

docs-check: venv ## every command of README.md and docs/ in fresh clones, as printed; needs the program, and the module (`make build`)
	@$(PY) tools/docs_check.py $(FLAGS)
