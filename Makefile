# Headroom's commands. Everything is built into .venv/; nothing else on the machine is touched
# (as root, `make test` also installs missing system packages, see scripts/system-packages).
# PYTHON=/path/to/python3 chooses the interpreter.

.DEFAULT_GOAL := help
.PHONY: help build demo wheel check test test-deep bench format docs site pictures clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

build: ## build Headroom into .venv/ (the other commands do it by themselves)
	@scripts/build

demo: build ## simulate a web shop and measure SQLite; ends with two report pages
	@scripts/demo

wheel: ## build the wheels and the source distribution into dist/ (Linux: for old systems, by zig)
	@scripts/wheel

check: ## layout, lint, types and tests of what you changed, in a minute
	@scripts/build test
	@scripts/with-rust .venv/bin/python -m scripts.check_changes

# The release build has long stretches on one core: the Rust tests are compiled beside it.
test: ## install what the tests need and run every quick check, in minutes
	@scripts/system-packages
	@scripts/with-rust cargo test --no-run --quiet --locked >/dev/null 2>&1 & \
	trap "kill $$! 2>/dev/null" EXIT; scripts/build test && { wait $$! || true; }
	@scripts/with-rust .venv/bin/python -m scripts.check

test-deep: ## run all other tests: studies, documents, browsers, servers, the catalogue service
	@scripts/system-packages
	@scripts/build test
	@scripts/with-rust .venv/bin/python -m scripts.check deep

bench: ## run the benchmarks beside their peers; PART=simulation runs one part
	@scripts/build bench
	@.venv/bin/python -m benches.run $(PART)

format: ## rewrite the layout of all code
	@scripts/build test
	@.venv/bin/ruff check --select I --fix --quiet .
	@.venv/bin/ruff format --quiet .
	@scripts/with-rust cargo fmt --all

docs: ## renew the printed examples in the documents
	@scripts/build test
	@.venv/bin/python -m scripts.refresh_docs

site: ## build documents and reference as a site with search into build/site, notebooks executed
	@scripts/build site
	@.venv/bin/python -m scripts.site.build

pictures: ## take the pictures of the documents anew (needs Chromium)
	@scripts/build test
	@.venv/bin/python -m scripts.make_pictures

clean: ## remove everything that was built; results of studies stay
	@rm -rf .venv target build dist src/headroom/_core*.so .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
