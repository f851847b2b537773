# The targets people and CI use. `make help` lists them.
.DEFAULT_GOAL := help
export CGO_ENABLED ?= 0
# All that is compiled is compiled alike: with and without would be twice.
export GOFLAGS := $(GOFLAGS) -trimpath

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# gRPC's own trace pages use text/template by reflection, which keeps the linker
# from leaving out what nobody calls: without them the binary is 15 MB smaller.
TAGS := grpcnotrace
# What `make build-small` leaves out; see docs/building.md.
SMALL := no_etcd no_grpc no_nats no_otlp no_postgres no_s3
LDFLAGS := -s -w -X main.linkedVersion=$(VERSION)
GOTESTSUM := go tool -modfile=tools/tools.mod gotestsum
STATICCHECK := go tool -modfile=tools/tools.mod staticcheck
# `make check` vets all packages, tests too; and nobody debugs a test's binary
# that is built to be run once, so a hundred are linked without what that needs.
# Tests wait for servers, disks and other processes for much of their time: of
# packages, twice as many as there are processors are built or tested at once.
# Those that wait longest come first.
PACKAGES := ./test/... ./...
# Compilers and tests alike free memory for half of their time where a small heap is
# to stay small. internal/testbinary takes this from the programs that tests start.
ROOMY := GOGC=400 GOMEMLIMIT=3GiB
QUICKLY := -vet=off -ldflags=-w -p $(shell expr 2 \* $$(getconf _NPROCESSORS_ONLN))

.PHONY: help
help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## the binary, ./bin/ramet
	go build -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o bin/ramet ./cmd/ramet

.PHONY: build-small
build-small: ## ./bin/ramet-small, without etcd, gRPC effects, NATS, traces and PostgreSQL: three quarters of the size
	go build -tags '$(TAGS) $(SMALL)' -ldflags '$(LDFLAGS)' -o bin/ramet-small ./cmd/ramet

.PHONY: release
release: ## archives, Debian packages, inventories and sums of VERSION in ./dist; see docs/install.md
	scripts/release '$(VERSION)' dist

.PHONY: demo
demo: build ## run examples/hello on a throw-away node: a Python and a shell job
	./bin/ramet run examples/hello/jobs.yaml

.PHONY: test
test: ## everything, with real servers: installs what is missing, ends in a count
	scripts/install-test-servers
	$(MAKE) build
	scripts/test-sdks
	scripts/test-openapi
	$(ROOMY) RAMET_TEST_SERVERS=required $(GOTESTSUM) --format pkgname-and-test-fails -- $(QUICKLY) -timeout 20m $(PACKAGES)

.PHONY: sdk-python
sdk-python: build ## the Python SDK: ruff, mypy, its tests against ./bin/ramet; installs what they need into sdk/python/.venv
	cd sdk/python && python3 -m venv .venv && .venv/bin/pip install -q -e '.[dev]' && \
		.venv/bin/ruff check . ../../examples/web-app/python && .venv/bin/ruff format --check . ../../examples/web-app/python && \
		.venv/bin/mypy && RAMET_BINARY=../../bin/ramet .venv/bin/pytest
.PHONY: sdk-typescript
sdk-typescript: build ## the TypeScript SDK: its types, its tests against ./bin/ramet, its package and its example (needs Node.js 20); installs into sdk/typescript/node_modules
	cd sdk/typescript && npm ci --no-audit --no-fund && npm test

.PHONY: test-quick
test-quick: ## what needs nothing installed; servers that are missing skip their tests
	$(GOTESTSUM) --format pkgname-and-test-fails -- -short ./...

# The race detector alone needs cgo. What runs the tests, and the programs that
# they build, are compiled without, as everywhere else: with cgo nearly all of the
# program would be compiled a third time.
# SQLite is C that was translated to Go: its memory is none that the detector knows,
# and watching each access to it doubles what the archive's tests cost.
UNWATCHED := -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false
# What runs in one goroutine has no races: tools/goroutines leaves those packages out,
# whose tests `make test` runs like all others.
.PHONY: race
race: ## the tests under the race detector (needs gcc), but for those of the built binary, and of what starts no goroutine
	@packages=$$(go run ./tools/goroutines $(PACKAGES)) && \
		$(ROOMY) $(GOTESTSUM) --format pkgname-and-test-fails --raw-command -- \
		env CGO_ENABLED=1 go test -json $(QUICKLY) -exec 'env CGO_ENABLED=0' -race $(UNWATCHED) -short -timeout 20m \
		$$(echo "$$packages" | grep -v -e /test/scripts -e /test/readme -e /test/browser -e /test/release -e /test/stranger -e /test/upgrade -e /test/traces)

.PHONY: check
check: ## format, vet, staticcheck, and that other systems' compilers would take it
	@test -z "$$(gofmt -l .)" || { echo "not gofmt-ed:"; gofmt -l .; exit 1; }
	$(ROOMY) go vet ./...
	$(ROOMY) go vet -tags '$(SMALL)' ./cmd/ramet ./effect/sqleffect
	$(ROOMY) go test -tags '$(SMALL)' -vet=off -ldflags=-w -run LeftOut ./cmd/ramet
	$(ROOMY) $(STATICCHECK) ./...
	$(ROOMY) go run ./tools/typecheck darwin/arm64 ./cmd/ramet darwin/amd64 ./cmd/ramet linux/arm64 ./cmd/ramet windows/amd64 ./cmd/ramet-client
	$(ROOMY) CGO_ENABLED=0 GOOS=linux GOARCH=arm64 go build ./script/jail # the one package with code of its own for a processor

.PHONY: fuzz
fuzz: ## every fuzz test for FUZZTIME (default 10s); those that fit FUZZ alone, as FUZZ=FuzzURL or FUZZ=identity
	scripts/fuzz $(or $(FUZZTIME),10s) $(FUZZ)

.PHONY: clocks
clocks: ## the clock of a node jumps by seconds and by an hour while it works, embedded and on Redis, and by three days while a script waits; compiles every package anew, once
	scripts/install-test-servers
	RAMET_TEST_SERVERS=required RAMET_CLOCKS=1 $(GOTESTSUM) --format testname -- -timeout 60m ./test/clocks

.PHONY: kill
kill: clocks ## 200 rounds of kill -9 under load: embedded, Redis, etcd with its leader, two sites over each bus, sagas, durable scripts, damaged files, a witness outside; 20 of backups; 1,000 seeds of messages in simulation; and what `make clocks` does
	RAMET_TEST_SERVERS=required RAMET_KILL_ROUNDS=200 $(GOTESTSUM) --format testname -- -timeout 150m -run Kill ./test/cluster
	RAMET_TEST_SERVERS=required RAMET_KILL_ROUNDS=20 $(GOTESTSUM) --format testname -- -timeout 30m -run Kill ./test/upgrade
	RAMET_SIM_SEEDS=1000 $(GOTESTSUM) --format testname -- -timeout 60m -run 'TestSimulation$$' ./post

.PHONY: drill
drill: ## backup and restore of 50,000 living things, under load
	RAMET_DRILL=50000 $(GOTESTSUM) --format testname -- -timeout 30m -run RestoreDrill ./test/upgrade

.PHONY: large
large: ## a file of 5 GiB is put into each artifact store and read again, in bounded memory; needs 11 GiB of disk
	scripts/install-test-servers
	RAMET_TEST_SERVERS=required RAMET_LARGE_ARTIFACTS=1 $(GOTESTSUM) --format testname -- -timeout 30m -run 'TestStore/what_is_large' ./artifact/...

.PHONY: bench
bench: ## measure everything; prints JSON lines (needs redis-server)
	@mkdir -p bin && go build -o bin/bench ./bench && ./bin/bench

.PHONY: bench-check
bench-check: build ## compare speed, as ratios, with bench/recorded.json; fails when one is 10 % worse (minutes)
	scripts/install-test-servers
	@mkdir -p bin && go build -o bin/bench ./bench && ./bin/bench -check

.PHONY: bench-record
bench-record: build ## measure those ratios anew and write bench/recorded.json
	scripts/install-test-servers
	@mkdir -p bin && go build -o bin/bench ./bench && ./bin/bench -record

.PHONY: bench-beside
bench-beside: ## ours and the programs whose commands are in the file BESIDE, in turn; see docs/performance.md
	@test -n "$(BESIDE)" || { echo "say which: make bench-beside BESIDE=FILE, with a command on each line"; exit 2; }
	@mkdir -p bin && go build -o bin/bench ./bench && ./bin/bench -beside $(BESIDE) $(ARGS)

.PHONY: rhai-compare
rhai-compare: build ## our Rhai against the Rust reference (needs cargo): answers, FUZZTIME of random programs, speed
	go run ./tools/rhaicompare -fuzz $(or $(FUZZTIME),60s) $(ARGS)

.PHONY: cover
cover: ## test coverage by package
	go test -short -cover ./... | awk '{ print $$2, $$5 }' | column -t

.PHONY: clean
clean: ## remove what was built
	rm -rf bin
