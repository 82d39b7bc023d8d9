# The front door. Meson builds (see meson.build); this file only names what there is to do.
#
# Every target installs the Debian packages that it needs and that are missing (scripts/deps.sh).

# What `make run` passes on to `causeway serve`, for example ARGS="--listen 127.0.0.1:9000".
ARGS ?=
# Which tests: SUITE=unit|integration|functional|browser|services|conformance|fuzz, FILE=path of one test, TEST=name of one program.
SUITE ?=
FILE ?=
TEST ?=
# One scenario of `make chaos`: the name of a file in tests/chaos.
ONLY ?=
# SANITIZE=1 (address and undefined behaviour) or SANITIZE=thread.
SANITIZE ?=
FUZZ_SECONDS ?= 60
PREFIX ?= /usr/local

# PREFIX is not exported: npm reads a variable of that name.
export FUZZ_SECONDS

variant := $(if $(filter thread,$(SANITIZE)),tsan,$(if $(SANITIZE),asan,release))

.PHONY: help run build test screenshots clients chaos bench bench-check lint format coverage fuzz soak fresh deb oci clean install uninstall

help: ## show this list
	@echo "make TARGET, where TARGET is one of"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | \
	    while IFS='	' read -r name text; do printf '  %-10s %s\n' "$$name" "$$text"; done

# What `make run` needs of a build: the program, the plugin host, the example plugin.
runnable := causeway src/host/causeway-plugin-host src/validator/causeway-plugin-validator.so plugins/examples.so plugins/examples.db

run: ## build and start Causeway with the example plugin on 127.0.0.1:8080 (ARGS=... adds arguments)
	@scripts/deps.sh run
	@scripts/build.sh release $(runnable)
	@scripts/run.sh $(ARGS)

build: ## build everything; the program is build/causeway
	@scripts/deps.sh run
	@scripts/build.sh release

test: ## run the tests (SUITE=unit|integration|functional|browser|services|conformance|fuzz, FILE=..., TEST=..., SANITIZE=1|thread)
	@scripts/deps.sh test $(filter services browser,$(SUITE))
	@scripts/build.sh $(variant) $(if $(filter %.test.mjs,$(FILE)),black-box,$(if $(TEST)$(FILE),build.ninja))
	@scripts/node.sh scripts/test.mjs $(variant) --suite="$(SUITE)" --file="$(FILE)" --test="$(TEST)"

screenshots: ## write pictures of the console into build/screenshots
	@scripts/deps.sh test browser
	@scripts/build.sh release
	@scripts/node.sh scripts/screenshots.mjs

clients: ## run SDKs and agent frameworks of others, and write the table in docs/clients.md (ARGS=--only=NAME)
	@scripts/deps.sh test
	@scripts/build.sh release
	@scripts/node.sh tests/clients/run.mjs $(ARGS)

chaos: ## kill, pause, cut off and restore replicas and their PostgreSQL (ONLY=kills|failover|partition|...)
	@scripts/deps.sh test chaos
	@scripts/build.sh $(variant) black-box
	@scripts/node.sh scripts/test.mjs $(variant) --suite=chaos --file="$(if $(ONLY),tests/chaos/$(ONLY).test.mjs)"

bench: ## measure Causeway and its peers in one run
	@scripts/deps.sh bench
	@scripts/build.sh release
	@scripts/node.sh bench/run.mjs $(ARGS)

bench-check: ## instruction counts of the hot paths against the recorded ones
	@scripts/deps.sh bench
	@scripts/build.sh release
	@bench/schema/check.sh build/release/bench/schema/bench_schema

lint: ## formatting, clang-tidy, layers, spelling and the other checks of scripts/lint
	@scripts/deps.sh lint
	@scripts/lint.sh

format: ## format all C and JavaScript files
	@scripts/deps.sh lint
	@scripts/lint/format.sh --fix
	@scripts/lint/javascript.sh --fix

coverage: ## run the tests and show which lines they reach, file by file
	@scripts/deps.sh coverage
	@scripts/coverage.sh

fuzz: ## run each fuzz target for FUZZ_SECONDS (60)
	@scripts/deps.sh fuzz
	@scripts/fuzz.sh

soak: ## keep a server busy for long and watch its memory
	@scripts/deps.sh bench
	@scripts/build.sh release
	@scripts/node.sh bench/soak.mjs $(ARGS)

fresh: ## try the README commands and the packages in a bare Debian 12 (needs root)
	@scripts/deps.sh fresh
	@scripts/fresh.sh

deb: ## build the Debian packages into build/deb and check them (ARGS=--twice: build twice and compare)
	@scripts/deps.sh deb
	@scripts/deb.sh $(ARGS)

oci: deb ## build an OCI image into build/oci and make a call to it (needs root for the call)
	@scripts/deps.sh oci
	@scripts/oci.sh

install: ## install the program, the plugin host, the example plugin, the SDK and the manual (PREFIX, DESTDIR)
	@scripts/deps.sh run
	@CAUSEWAY_PREFIX="$(PREFIX)" scripts/build.sh release causeway src/host/causeway-plugin-host \
	    src/validator/causeway-plugin-validator.so plugins/examples.so src/manual/causeway.1
	@meson install -C build/release --no-rebuild --quiet
	@scripts/install-summary.sh

uninstall: ## remove what `make install` installed from this folder
	@scripts/uninstall.sh

clean: ## remove everything that was built
	rm -rf build
