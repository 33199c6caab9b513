# Shortcuts for the presets in CMakePresets.json. `make help` lists the targets.

JOBS ?= $(shell nproc)
# Two more jobs than there are cores, because integration tests mostly wait for their servers. At
# most 6 jobs, because many Java servers need too much memory.
TEST_JOBS ?= $(shell n=$$(nproc); echo $$((n > 4 ? 6 : n + 2)))
# `make tidy` checks the files that differ from this commit.
TIDY_BASE ?= HEAD

# Targets run one after the other, even with `make -j`, because ninja and ctest run the parallel
# jobs. Without these variables, the builds that tests start do not use make's job server.
.NOTPARALLEL:
unexport MAKEFLAGS MFLAGS

.PHONY: build install dist deb deb-reproducible test-deb test sanitize build-dev build-asan build-tsan build-fuzz run-dev run-asan run-tsan run-fuzz sim mutants chaos demo bench-client bench-server bench-lock bench-queue bench-growth bench-ensemble bench-cli abi docs format format-check tidy install-packages clean help
.DEFAULT_GOAL := build

configure_and_build = cmake --preset $(1) && cmake --build --preset $(1) -j $(JOBS)

build: ## build the library and the program build/conclave
	tools/install-packages build
	$(call configure_and_build,release)
	ln -sf release/src/cli/conclave build/conclave

# Does not build, because it often runs as root.
PREFIX ?= /usr/local
install: ## install what `make build` has built: PREFIX=/usr/local
	@test -e build/conclave || { echo "make install: run make build first" >&2; exit 1; }
	cmake --install build/release --prefix $(PREFIX)

dist: build ## a tarball with the program and an install script, for machines without packages
	tools/make-dist build/release build/dist

deb: ## Debian packages of the last commit in build/deb, checked with lintian
	tools/install-packages build packages
	tools/make-deb build/deb

deb-reproducible: ## like deb, but builds twice and compares
	tools/install-packages build packages
	tools/make-deb --twice build/deb

# Not part of `make test`: it needs root and a Debian mirror.
test-deb: ## install, use, upgrade and purge the packages in build/deb in fresh Debian 12 systems
	tools/install-packages packages
	tools/test-deb build/deb build/test-deb

test: build-dev run-dev ## install the required packages, build, and run all tests

sanitize: build-asan run-asan build-tsan run-tsan build-fuzz run-fuzz ## run all tests with ASan and UBSan, then with TSan, and each fuzzer for a short time

# The steps of `test` and `sanitize`. .ci/run runs the tests of one preset while it builds the next.
build-dev build-asan build-tsan build-fuzz: build-%:
	tools/install-packages build test
	$(call configure_and_build,$*)

# If vm.mmap_rnd_bits is 32, TSan needs a process without address space randomization. Some
# containers forbid setarch. There, the tests run without it.
run-tsan: run_with = $$(setarch -R true 2>/dev/null && echo setarch -R)
run-dev run-asan run-tsan run-fuzz: run-%:
	$(run_with) ctest --preset $* -j $(TEST_JOBS) \
		--output-junit $(CURDIR)/build/$*/test-results/junit.xml

demo: ## install the required packages, build, and show how a lock protects a file
	tools/install-packages build
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target conclave_cli
	tools/demo

# Simulates SEEDS histories, beginning with FIRST_SEED. WORKLOAD is all, or one workload, for
# example mutex.
SEEDS ?= 100000
FIRST_SEED ?= 1
WORKLOAD ?= all
sim: ## simulate and check histories: SEEDS=100000 FIRST_SEED=1 WORKLOAD=all
	tools/install-packages build
	cmake --preset proof
	cmake --build --preset proof -j $(JOBS) --target conclave_sim
	build/proof/tests/simulation/conclave_sim --workload $(WORKLOAD) --seeds $(SEEDS) \
		--first $(FIRST_SEED) --jobs $(JOBS)

mutants: ## check that the simulator finds deliberate errors in the code
	tools/install-packages build
	cmake --preset proof
	cmake --build --preset proof -j $(JOBS) --target mutants

MINUTES ?= 10
SERVER ?= ensemble
chaos_run = build/proof/tests/chaos/chaos --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) --server
chaos: ## inject faults and check the history: MINUTES=10 SERVER=ensemble|embedded|both|processes; report in build/chaos
	tools/install-packages build server
	cmake --preset proof
	cmake --build --preset proof -j $(JOBS) --target $(if $(filter processes,$(SERVER)),conclave_cli judge_history,chaos)
	mkdir -p build/chaos
ifeq ($(SERVER),processes)
	/usr/bin/python3 -B tests/cli/process_chaos.py --binary build/proof/src/cli/conclave \
	    --judge build/proof/tests/checkers/judge_history --report build/chaos/processes \
	    --seconds $$(($(MINUTES) * 20)) $(if $(SEED),--seed $(SEED))
else ifeq ($(SERVER),both)
	$(chaos_run) ensemble --report build/chaos; first=$$?; \
	    $(chaos_run) embedded --report build/chaos/embedded && exit $$first
else
	$(chaos_run) $(SERVER) --report build/chaos
endif

bench-client: ## compare the client with libzookeeper; results in build/bench
	tools/install-packages build server bench
	cmake --preset release -DCONCLAVE_BUILD_BENCH=ON
	cmake --build --preset release -j $(JOBS) --target bench_client
	mkdir -p build/bench
	build/release/bench/bench_client --json build/bench/client.json

bench-server: ## compare the server with Apache ZooKeeper and Redis; results in build/bench
	tools/install-packages build server bench
	cmake --preset release -DCONCLAVE_BUILD_BENCH=ON
	cmake --build --preset release -j $(JOBS) --target bench_server
	mkdir -p build/bench
	build/release/bench/bench_server --folder build/bench --json build/bench/server.json

bench-lock: ## compare the locks with Curator, kazoo and ZooKeeper's recipes; results in build/bench
	tools/install-packages build server bench
	cmake --preset release -DCONCLAVE_BUILD_BENCH=ON
	cmake --build --preset release -j $(JOBS) --target bench_lock
	mkdir -p build/bench
	build/release/bench/bench_lock --folder build/bench --json build/bench/lock.json

bench-queue: ## compare the queue with ZooKeeper's recipes, Curator and kazoo; results in build/bench
	tools/install-packages build server bench
	cmake --preset release -DCONCLAVE_BUILD_BENCH=ON
	cmake --build --preset release -j $(JOBS) --target bench_queue
	mkdir -p build/bench
	build/release/bench/bench_queue --folder build/bench --json build/bench/queue.json

bench-growth: ## cost of n locks, items, sessions, n from 100 to 1,000,000; results in build/bench
	tools/install-packages build server bench
	cmake --preset release -DCONCLAVE_BUILD_BENCH=ON
	cmake --build --preset release -j $(JOBS) --target bench_growth
	mkdir -p build/bench
	build/release/bench/bench_growth --folder build/bench --json build/bench/growth.json

bench-ensemble: ## compare a model with a real ensemble, simulate 10,000 clients; results in build/bench
	tools/install-packages build server bench
	cmake --preset release -DCONCLAVE_BUILD_BENCH=ON
	cmake --build --preset release -j $(JOBS) --target bench_ensemble
	mkdir -p build/bench
	build/release/bench/bench_ensemble --folder build/bench --json build/bench/ensemble.json

bench-cli: ## our command line beside flock, kazoo, Curator and zkCli.sh; results in build/bench
	tools/install-packages build server bench
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target conclave_cli
	mkdir -p build/bench
	/usr/bin/python3 bench/cli/bench_cli.py build/release/src/cli/conclave --json build/bench/cli.json

docs: ## build the site of the documents in build/site; with pages for the commands if build/release has the program
	tools/install-packages docs
	tools/site/build.py

# Tracked and new files, without those that .gitignore excludes.
sources = git ls-files --cached --others --exclude-standard -- '*.cpp' '*.hpp' '*.ipp'

abi: ## compare the ABI of the shared libraries with that of the last release
	tools/install-packages build packages
	tools/check-abi

format: ## format all sources in place
	$(sources) | xargs -r clang-format-14 -i

format-check: ## fail if a source is not formatted
	$(sources) | xargs -r clang-format-14 --dry-run -Werror

# Checks only changed files, because a file takes 13 s. Has a separate build folder, because clang
# cannot use the compile commands of g++ with precompiled headers.
tidy: ## run clang-tidy on the files changed since TIDY_BASE (HEAD), or on FILES="..."
	cmake --preset tidy >/dev/null
	files="$(FILES)"; \
	test -n "$$files" || files=$$( \
	    { git diff --name-only --diff-filter=d $(TIDY_BASE) -- ; \
	      git ls-files --others --exclude-standard; } | \
	    grep -E '^(src|include|bench|examples|tests)/.*\.[ch]pp$$' | sort -u); \
	test -z "$$files" || printf '%s\n' $$files | \
	    xargs -n 1 -P $(JOBS) clang-tidy-14 --quiet -p build/tidy

install-packages: ## install the Debian packages for all targets
	tools/install-packages

clean: ## remove build/
	rm -rf build

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | \
	    while IFS="$$(printf '\t')" read -r target text; do \
	        printf '  make %-17s %s\n' "$$target" "$$text"; done
