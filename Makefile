# The targets people and CI use. `make help` lists them.
.DEFAULT_GOAL := help
export CGO_ENABLED ?= 0

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# gRPC's own trace pages use text/template by reflection, which keeps the linker
# from leaving out what nobody calls: without them the binary is 15 MB smaller.
TAGS := grpcnotrace
LDFLAGS := -s -w -X main.version=$(VERSION)
GOTESTSUM := go tool -modfile=tools/tools.mod gotestsum
STATICCHECK := go tool -modfile=tools/tools.mod staticcheck
# `make check` vets all packages, tests too; and nobody debugs a test's binary
# that is built to be run once, so a hundred are linked without what that needs.
QUICKLY := -vet=off -ldflags=-w

.PHONY: help
help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## the binary, ./bin/ramet
	go build -trimpath -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o bin/ramet ./cmd/ramet

.PHONY: demo
demo: build ## run examples/hello on a throw-away node: a Python and a shell job
	./bin/ramet run examples/hello/jobs.yaml

.PHONY: test
test: ## everything, with real servers: installs what is missing, ends in a count
	scripts/install-test-servers
	RAMET_TEST_SERVERS=required $(GOTESTSUM) --format pkgname-and-test-fails -- $(QUICKLY) -timeout 20m ./...

.PHONY: test-quick
test-quick: ## what needs nothing installed; servers that are missing skip their tests
	$(GOTESTSUM) --format pkgname-and-test-fails -- -short ./...

.PHONY: race
race: ## the tests under the race detector (needs gcc), but for those of the built binary
	CGO_ENABLED=1 $(GOTESTSUM) --format pkgname-and-test-fails -- $(QUICKLY) -race -short -timeout 20m \
		$$(go list ./... | grep -v -e /test/scripts -e /test/readme)

.PHONY: check
check: ## format, vet, staticcheck, and that other systems compile
	@test -z "$$(gofmt -l .)" || { echo "not gofmt-ed:"; gofmt -l .; exit 1; }
	go vet ./...
	$(STATICCHECK) ./...
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 go build -o /dev/null ./cmd/ramet
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 go build ./script/jail # the one package with code of its own for a processor

.PHONY: fuzz
fuzz: ## every fuzz test for FUZZTIME (default 10s); those that fit FUZZ alone, as FUZZ=FuzzURL or FUZZ=identity
	scripts/fuzz $(or $(FUZZTIME),10s) $(FUZZ)

.PHONY: kill
kill: ## 200 rounds of kill -9 under load: embedded, Redis, etcd with its leader, two sites over each bus, sagas, damaged files, a witness outside; then 1,000 seeds of messages in simulation
	RAMET_KILL_ROUNDS=200 $(GOTESTSUM) --format testname -- -timeout 90m -run Kill ./test/cluster
	RAMET_SIM_SEEDS=1000 $(GOTESTSUM) --format testname -- -timeout 60m -run 'TestSimulation$$' ./post

.PHONY: bench
bench: ## measure everything; prints JSON lines (needs redis-server)
	@mkdir -p bin && go build -o bin/bench ./bench && ./bin/bench

.PHONY: bench-check
bench-check: ## compare speed, as ratios, with bench/recorded.json; fails when one is 10 % worse (minutes)
	scripts/install-test-servers
	@mkdir -p bin && go build -o bin/bench ./bench && ./bin/bench -check

.PHONY: bench-record
bench-record: ## measure those ratios anew and write bench/recorded.json
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
