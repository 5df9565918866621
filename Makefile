# make          builds codemode
# make test     the tests that need nothing but Go
# make lint     formatting, vet and staticcheck
# make check    all that a reviewer would run, with the race detector; ends with "no diff"
# make guest    rebuilds quickjs.wasm and compares it with the one committed
# make scoreboard runs the attack suite against other engines too, and compares their speed
# make editor   rebuilds the editor of the page of rules
# make pages    rewrites what the documents show of runs, and the picture of the README
# make reference writes the pages of docs/reference from the code
# make site     builds the site of the documents in .build/site
# make house    measures a build from nothing, for testdata/house.json
# make speed-ratchet compares the speed with that of an older commit
# make licences writes THIRD_PARTY_LICENSES, after a dependency changed
# make release-check builds a release twice, compares, and installs it everywhere

GO ?= go
OUT ?= .build/scoreboard

.PHONY: all test test-npm test-clients test-agents test-models test262 deterministic confined sizing helm axe lint check guest editor bench fuzz soak clean
.PHONY: house speed-ratchet engines test-engines scoreboard licences release-check apidiff pages reference site

all:
	CGO_ENABLED=0 $(GO) build -trimpath -o codemode ./cmd/codemode

test:
	$(GO) test ./...

# The npm servers that the tests run against, when they are installed; see testdata/npm/README.md.
test-npm: testdata/npm/node_modules
	CODEMODE_NPM_SERVERS=$(CURDIR)/testdata/npm $(GO) test ./...

testdata/npm/node_modules: testdata/npm/package.json
	cd testdata/npm && npm install --no-audit --no-fund --loglevel=error
	touch $@

# The inspector's mcpdo and MCP's conformance suites, which are large; see testdata/npm/clients/README.md.
# CODEMODE_LONG=1 adds a person who thinks for six minutes.
test-clients: testdata/npm/node_modules testdata/npm/clients/node_modules
	CODEMODE_NPM_SERVERS=$(CURDIR)/testdata/npm CODEMODE_NPM_CLIENTS=$(CURDIR)/testdata/npm/clients \
		$(GO) test -v -timeout 30m -run 'RealClients|Mcpdo|Conformance|SixMinutes' ./cmd/codemode ./server

testdata/npm/clients/node_modules: testdata/npm/clients/package.json
	cd testdata/npm/clients && npm install --no-audit --no-fund --loglevel=error
	touch $@

# codemode init --install into real agents, which are large; see testdata/npm/agents/README.md.
test-agents: testdata/npm/node_modules testdata/npm/agents/node_modules
	CODEMODE_NPM_SERVERS=$(CURDIR)/testdata/npm CODEMODE_NPM_AGENTS=$(CURDIR)/testdata/npm/agents \
		$(GO) test -v -count=1 -timeout 30m -run RealAgents ./cmd/codemode

# What of an answer reaches the model of real clients, with a pretend model; it takes a quarter of an hour. CASES chooses
# clients and cases: make test-models CASES='gemini list'
test-models: all testdata/npm/agents/node_modules
	CODEMODE=$(CURDIR)/codemode node testdata/npm/agents/reach.mjs $(CASES)

testdata/npm/agents/node_modules: testdata/npm/agents/package.json
	cd testdata/npm/agents && npm install --no-audit --no-fund --loglevel=error
	touch $@

# The engines that "make scoreboard" compares, which are large; see internal/bench/engines/README.md.
engines: internal/bench/engines/node_modules
	mkdir -p internal/bench/engines/bin
	CGO_ENABLED=0 $(GO) build -trimpath -o internal/bench/engines/bin ./cmd/codemode ./internal/bench/engines/codemode-server
	cd internal/bench/engines/go && CGO_ENABLED=0 $(GO) build -trimpath -o ../bin ./goja ./modernc

internal/bench/engines/node_modules: internal/bench/engines/package.json
	cd internal/bench/engines && npm ci --no-audit --no-fund --loglevel=error
	touch $@

# Each driver speaks the protocol, and what the suite found happens without the drivers, too.
test-engines: engines
	cd internal/bench/engines && node --test drivers.test.mjs by-hand.test.mjs
	cd internal/bench/engines/go && $(GO) test -timeout 10m ./...

# The attack suite and the speed of each, which takes an hour: OUT is the folder of the reports.
scoreboard: engines
	mkdir -p $(OUT)
	internal/bench/engines/bin/codemode bench isolation --core --once --engines internal/bench/engines/engines.json \
		$(addprefix --out $(OUT)/scoreboard.,md json sarif xml) || [ $$? = 1 ]
	internal/bench/engines/bin/codemode bench speed --engines internal/bench/engines/engines.json >$(OUT)/speed.txt || \
		[ $$? = 5 ] # the table names an engine that failed
	cat $(OUT)/speed.txt

# The suite of the JavaScript standard, from a checkout of it: make test262 TEST262=DIR. FILTER='built-ins/Array*' runs
# a part, UPDATE=1 writes the failures to testdata/test262.txt and keeps its reasons.
test262:
	CODEMODE_TEST262=$(abspath $(TEST262)) CODEMODE_TEST262_FILTER=$(FILTER) CODEMODE_TEST262_UPDATE=$(UPDATE) \
		$(GO) test -v -count=1 -timeout 3h -run 'TestTest262$$' ./internal/bench

# 1,000 random programs give the same here, parked, and in qemu-aarch64 (Debian: qemu-user). It takes minutes.
deterministic:
	CODEMODE_LONG=1 $(GO) test -v -count=1 -timeout 60m -run 'TheSameProgram|TheSameOnARM64' ./sandbox

# The folders that have benchmarks.
BENCHMARKS = $(sort $(dir $(addprefix ./,$(shell git grep -l '^func Benchmark' -- '*_test.go'))))

# The whole isolation suite inside "serve --confine" and in a read-only root and in the container of deploy/Dockerfile: case by
# case as it ends outside. It takes an hour, root and runc.
confined:
	CODEMODE_LONG=1 $(GO) test -v -count=1 -timeout 90m -run 'TestConfinedExam|TestInAReadOnlyRoot|TestTheImage' ./cmd/codemode

# The memory of a service, for the table in docs/deploying.md.
sizing:
	CODEMODE_SIZING=1 $(GO) test -v -count=1 -run TestWhatAServiceNeeds ./cmd/codemode

# Helm, in a module of its own, lints the chart and renders it. It is large: the first time takes minutes.
HELM = helm.sh/helm/v3/cmd/helm
helm:
	@mkdir -p .build/helm
	cd .build/helm && { test -f go.mod || $(GO) mod init helm; } && $(GO) get -tool $(HELM)@v3.22.0 && $(GO) build -o helm $(HELM)
	.build/helm/helm lint --strict deploy/helm/codemode
	.build/helm/helm template codemode deploy/helm/codemode >/dev/null

# axe-core, from npm, looks at every page: narrow and wide, light and dark, with and without a script.
axe:
	@mkdir -p .build/axe
	cd .build/axe && npm pack --silent axe-core@4.14.1 && tar xzf axe-core-4.14.1.tgz
	CODEMODE_AXE=$(CURDIR)/.build/axe/package/axe.min.js $(GO) test ./internal/console ./cmd/codemode -count=1 -run 'TestThePageFitsEveryScreen|TestEveryPageFits'

# What needs no tests to run.
lint:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "gofmt: run gofmt -w on these"; exit 1; }
	$(GO) mod tidy -diff
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./... # the files for other systems compile, and their tests
	GOOS=windows $(GO) vet ./...
	$(GO) tool staticcheck ./...

check: lint
	$(GO) test -race -timeout 20m ./... # where it finds nothing, tests skip and say why; make test runs them
	$(GO) test -run '^$$' -bench . -benchtime 1x $(BENCHMARKS) >/dev/null
	$(MAKE) speed-ratchet
	git diff --exit-code # nothing above may change a file
	@echo "no diff"

# What only a build with an empty cache shows; the suite holds testdata/house.json to bounds.
house:
	CODEMODE_HOUSE=1 $(GO) test -count=1 -timeout 60m -run '^TestBuiltHouseBounds$$' -v ./internal/house

# This checkout against the commit in testdata/speed-base, by turns, on a machine without other work.
speed-ratchet:
	CODEMODE_SPEED=1 $(GO) test -count=1 -timeout 60m -run '^TestSpeedRatchet$$' -v ./cmd/codemode

guest:
	guest/build.sh

# The editor of the page of rules, internal/console/editor/editor.js, from its source and npm packages.
editor: internal/console/editor/node_modules
	cd internal/console/editor && $(GO) run ./bundle

internal/console/editor/node_modules: internal/console/editor/package-lock.json
	cd internal/console/editor && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@

# What the documents show of runs becomes what the commands print, and the picture what Chromium shows.
pages: testdata/npm/node_modules
	UPDATE_PAGES=1 CODEMODE_IMAGES=$(CURDIR)/docs/images CODEMODE_NPM_SERVERS=$(CURDIR)/testdata/npm \
		$(GO) test -count=1 -run 'TheTutorial|TheRecipes|TheFirstRunOfTheReadme|TheImages|TestDemo' ./cmd/codemode

licences:
	$(GO) run ./internal/release licences

reference:
	UPDATE_REFERENCE=1 $(GO) test -count=1 -run TestReference ./internal/reference ./cmd/codemode

# Hugo, in a module of its own, renders docs/. It is large: building it takes minutes, once for each version.
HUGO = github.com/gohugoio/hugo
HUGO_VERSION = v0.165.0
.build/hugo/hugo-$(HUGO_VERSION):
	@mkdir -p .build/hugo
	cd .build/hugo && { test -f go.mod || $(GO) mod init hugo; } && $(GO) get -tool $(HUGO)@$(HUGO_VERSION) && \
		CGO_ENABLED=0 $(GO) build -o $(@F) $(HUGO)

site: .build/hugo/hugo-$(HUGO_VERSION)
	$< --source docs/site --destination $(CURDIR)/.build/site --cleanDestinationDir \
		--cacheDir $(CURDIR)/.build/hugo/cache --noBuildLock --panicOnWarning --quiet
	CODEMODE_SITE=$(CURDIR)/.build/site $(GO) test -count=1 -run TestTheSite ./internal/reference

# A release of this commit, built twice and installed in empty roots. It takes root and half an hour; docs/releasing.md
# says more. STEPS='build deb' runs some steps.
release-check:
	deploy/release-check.sh $(STEPS)

# What changed incompatibly in the Go API since a version, and is not in the changelog: make apidiff BASE=v0.1.0. The
# tool is in a module of its own.
APIDIFF = golang.org/x/exp/cmd/apidiff
apidiff:
	@mkdir -p .build/apidiff
	cd .build/apidiff && { test -f go.mod || $(GO) mod init apidiff; } && \
		$(GO) get -tool $(APIDIFF)@v0.0.0-20261113113407-e3970619a1a4 && $(GO) build -o apidiff $(APIDIFF)
	deploy/apidiff.sh $(BASE)

# What takes too long for every day: ten thousand parked runs, as many random ones and as many schedules of people,
# restarts and rules, a thousand kills, a million decisions, an hour of hostile programs.
soak:
	CODEMODE_LONG=1 $(GO) test -timeout 90m -v -run 'Parked|RandomRuns|Killed|Tamper|RecordEquals' ./sandbox ./internal/bench ./internal/record/audit ./test
	$(GO) test ./test -run TestUpstreamRecordAndWhatIsToldAgree -schedules 10000 -at-once 8 -timeout 6h -v
	$(GO) test ./test -run TestExplainCheckAndTheGateAgree -agreements 100000 -timeout 60m -v
	$(GO) test ./config -run 'TestOracle$$|TestMonotone$$|TestA10|TestB1|TestE6|NeverLoosen' -pairs 1000000 -timeout 60m
	$(GO) test ./config -run HostileSaves -saves 10000 -timeout 20m
	CODEMODE_LONG=1 $(GO) test -timeout 30m -v -run 'TestHostile$$' ./analysis
	CODEMODE_LONG=1 $(GO) test -timeout 30m -v -run 'TestARollingRestart|TestOneTokenDoesNotTakeTheProcess' ./cmd/codemode
	CODEMODE_LONG=1 CODEMODE_SEARCH=1h $(GO) test -timeout 2h -v -run 'TestSearch$$' ./cmd/codemode

# Each fuzz target for FUZZTIME. Making inputs smaller that only cover more took the whole time of some targets, so it
# is bounded.
FUZZTIME ?= 10m
fuzz:
	@set -e; for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$target"; \
			$(GO) test $$package -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x; \
		done; \
	done

bench:
	$(GO) test -run '^$$' -bench . $(BENCHMARKS)

clean:
	rm -rf codemode .build
