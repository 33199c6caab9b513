# A thin cover over CMakePresets.json; see `make help`.

JOBS ?= $(shell nproc)
# Integration tests mostly wait for their servers, so one more than there are cores. Many Java servers
# at once need too much memory.
TEST_JOBS ?= $(shell n=$$(nproc); echo $$((n < 2 ? 2 : n > 4 ? 5 : n + 1)))
# What `make tidy` compares with, and the files it looks at.
TIDY_BASE ?= HEAD

# The steps of a target follow each other, also under `make -j`: ninja and ctest do the parallel
# work. make's job server would only confuse the builds that tests start.
.NOTPARALLEL:
unexport MAKEFLAGS MFLAGS

.PHONY: build test sanitize sim mutants chaos demo bench-client bench-server bench-lock bench-queue bench-cli format format-check tidy install-packages clean help
.DEFAULT_GOAL := build

configure_and_build = cmake --preset $(1) && cmake --build --preset $(1) -j $(JOBS)
run_tests = ctest --preset $(1) -j $(TEST_JOBS) \
	--output-junit $(CURDIR)/build/$(1)/test-results/junit.xml

build: ## build the library and the programs, into build/release
	tools/install-packages build
	$(call configure_and_build,release)

test: ## install what is needed, build, run every test
	tools/install-packages build test
	$(call configure_and_build,dev)
	$(call run_tests,dev)

# TSan needs a fixed memory layout where vm.mmap_rnd_bits is 32. Some containers forbid setarch;
# then we go without and see.
sanitize: ## every test under ASan+UBSan and under TSan, a short run of every fuzzer
	tools/install-packages build test
	$(call configure_and_build,asan)
	$(call run_tests,asan)
	$(call configure_and_build,tsan)
	$$(setarch -R true 2>/dev/null && echo setarch -R) $(call run_tests,tsan)
	$(call configure_and_build,fuzz)
	$(call run_tests,fuzz)

demo: ## install what is needed, build, show the main job
	tools/install-packages build
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target conclave_cli
	tools/demo

# SEEDS histories from FIRST_SEED on, of all workloads by turns or of one: WORKLOAD=mutex.
SEEDS ?= 100000
FIRST_SEED ?= 1
WORKLOAD ?= all
sim: ## simulated histories: SEEDS=100000 FIRST_SEED=1 WORKLOAD=all
	tools/install-packages build
	cmake --preset proof
	cmake --build --preset proof -j $(JOBS) --target conclave_sim
	build/proof/tests/simulation/conclave_sim --workload $(WORKLOAD) --seeds $(SEEDS) \
		--first $(FIRST_SEED) --jobs $(JOBS)

mutants: ## shows that the simulator finds code that is wrong on purpose
	tools/install-packages build
	cmake --preset proof
	cmake --build --preset proof -j $(JOBS) --target mutants

MINUTES ?= 10
SERVER ?= ensemble
chaos_run = build/proof/tests/chaos/chaos --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) --server
chaos: ## MINUTES=10 of faults on SERVER=ensemble|embedded|both|processes, judged; report in build/chaos
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

bench-client: ## our client beside libzookeeper, on one server; results in build/bench
	tools/install-packages build server bench
	cmake --preset release -DCONCLAVE_BUILD_BENCH=ON
	cmake --build --preset release -j $(JOBS) --target bench_client
	mkdir -p build/bench
	build/release/bench/bench_client --json build/bench/client.json

bench-server: ## our server beside Apache ZooKeeper and Redis; results in build/bench
	tools/install-packages build server bench
	cmake --preset release -DCONCLAVE_BUILD_BENCH=ON
	cmake --build --preset release -j $(JOBS) --target bench_server
	mkdir -p build/bench
	build/release/bench/bench_server --folder build/bench --json build/bench/server.json

bench-lock: ## our locks beside those of Curator, kazoo and ZooKeeper; results in build/bench
	tools/install-packages build server bench
	cmake --preset release -DCONCLAVE_BUILD_BENCH=ON
	cmake --build --preset release -j $(JOBS) --target bench_lock
	mkdir -p build/bench
	build/release/bench/bench_lock --folder build/bench --json build/bench/lock.json

bench-queue: ## our queue beside those of ZooKeeper, Curator and kazoo; results in build/bench
	tools/install-packages build server bench
	cmake --preset release -DCONCLAVE_BUILD_BENCH=ON
	cmake --build --preset release -j $(JOBS) --target bench_queue
	mkdir -p build/bench
	build/release/bench/bench_queue --folder build/bench --json build/bench/queue.json

bench-cli: ## our command line beside flock, kazoo, Curator and zkCli.sh; results in build/bench
	tools/install-packages build server bench
	cmake --preset release
	cmake --build --preset release -j $(JOBS) --target conclave_cli
	mkdir -p build/bench
	/usr/bin/python3 bench/cli/bench_cli.py build/release/src/cli/conclave --json build/bench/cli.json

# Tracked files and new ones, but not what .gitignore names.
sources = git ls-files --cached --others --exclude-standard -- '*.cpp' '*.hpp' '*.ipp'

format: ## format all sources in place
	$(sources) | xargs -r clang-format-14 -i

format-check: ## fail if a source is not formatted
	$(sources) | xargs -r clang-format-14 --dry-run -Werror

# 13 s a file, hence changed files only. A build folder of its own: clang cannot read the compile
# commands of g++'s precompiled headers.
tidy: ## clang-tidy on files changed since TIDY_BASE (HEAD), or on FILES="..."
	cmake --preset tidy >/dev/null
	files="$(FILES)"; \
	test -n "$$files" || files=$$( \
	    { git diff --name-only --diff-filter=d $(TIDY_BASE) -- ; \
	      git ls-files --others --exclude-standard; } | \
	    grep -E '^(src|include|bench|examples|tests)/.*\.[ch]pp$$' | sort -u); \
	test -z "$$files" || printf '%s\n' $$files | \
	    xargs -n 1 -P $(JOBS) clang-tidy-14 --quiet -p build/tidy

install-packages: ## install the Debian packages for all of the above
	tools/install-packages

clean: ## remove build/
	rm -rf build

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | \
	    while IFS="$$(printf '\t')" read -r target text; do \
	        printf '  make %-17s %s\n' "$$target" "$$text"; done
