##@ Tests

# assets: the API server for integration tests.
assets = KUBEBUILDER_ASSETS="$${KUBEBUILDER_ASSETS:-$(call tool,apiserver)}"

# read_only: client-go ends a process that modifies cached objects.
read_only = KUBE_CACHE_MUTATION_DETECTOR=true

# summary: the output of go test -v without passing tests.
summary = { grep -vE '^ *(=== |--- (PASS|SKIP))' || true; }

# The packages whose coverage is measured, and the required percentage of their statements.
covered := ./controllers/... ./internal/...
least := 90

# The packages that have a lock. `make test` checks that none is left out.
raced := $(covered) ./echoserver/... ./pathcheck/... ./cmd/echo-server

# unit: the settings of tools/make/unit.
unit = RACED="$(raced)" MODULES="$(strip $(filter-out tests/clients,$(test_modules) $(tested_tools)))"

.PHONY: setup-envtest
setup-envtest: ## Build the API server for integration tests and print its folder, for KUBEBUILDER_ASSETS.
	@echo "$(call tool,apiserver)"

.PHONY: test test-unit test-integration
test: ## Run the unit tests, and the integration tests on a real API server, at the same time. Does not require root.
	@$(assets) $(read_only) $(unit) tools/make/test $(TESTFLAGS)
test-unit: ## Run the unit tests of `make test`.
	@$(assets) $(unit) tools/make/unit all $(TESTFLAGS)
test-integration: ## Run the integration tests of `make test`.
	@$(assets) $(read_only) tools/make/ginkgo 4 1h ./tests/integration $(TESTFLAGS)

.PHONY: race test-unraced
race: ## Run the unit tests of every package that has a lock with the race detector, except tests that measure. Requires a C compiler.
	@tools/make/require gcc gcc libc6-dev
	@$(unit) tools/make/unit raced $(TESTFLAGS)
test-unraced: ## Run the unit tests that `make race` does not run.
	@$(assets) $(unit) tools/make/unit others $(TESTFLAGS)

.PHONY: test-alerts
test-alerts: ## Test the alerts and the dashboard's queries with promtool. 6 minutes to build Prometheus.
	@tools/make/require jq jq
	@promtool=$(call tool,prometheus)/promtool; "$$promtool" test rules internal/telemetry/testdata/alerts_test.yaml; \
	jq '{groups: [{name: "dashboard", rules: [.panels[].targets[]?.expr | {record: "query", expr: .}]}]}' config/grafana/echo-operator.json | \
		"$$promtool" check rules --lint=none

.PHONY: reliability
reliability: ## Search for faults that the operator does not survive: everything in docs/explanation/reliability.md that does not require root.
	@RELIABILITY=all go test -trimpath -count=1 -p=1 -timeout=0 -v $(TESTFLAGS) ./tests/reliability ./tests/reliability/mutants | $(summary)
	@RELIABILITY=all AMNESIA=1 go test -trimpath -count=1 -timeout=0 -v $(TESTFLAGS) ./tests/reliability | $(summary)

.PHONY: truth-table
truth-table: ## Run pathcheck on known paths in memory, each with every kind of noise, and fail if a report is false. 15 minutes of CPU time.
	@TRUTH_TABLE=all go test -trimpath -count=1 -timeout=0 -run=TestTruth -v $(TESTFLAGS) ./pathcheck | $(summary)

.PHONY: mutants
mutants: ## Put 120 bugs into the product, one at a time, and write to bin/mutants.txt which tests catch them. Two hours.
	@mkdir -p bin
	@$(assets) $(read_only) RELIABILITY=all MUTANTS="$${MUTANTS:-$(CURDIR)/bin/mutants.txt}" \
		go test -trimpath -count=1 -timeout=0 -v $(TESTFLAGS) ./tests/reliability/mutants | $(summary)

.PHONY: leader-election
leader-election: ## Run two operators behind a network that drops and delays requests, and check that only one works at a time. 15 minutes.
	@$(assets) RELIABILITY=all go test -trimpath -count=1 -timeout=0 -v $(TESTFLAGS) ./tests/reliability/election

.PHONY: test-kubernetes test-oldest test-previous test-newest
test-kubernetes: test-oldest test-previous test-newest ## Run the integration tests on each tested Kubernetes version. An hour.
test-oldest: ## Run the integration tests on the oldest supported API server. Does not require root.
test-previous: ## The same on the API server before the newest.
test-newest: ## The same on the newest API server, which `make test` also uses.
test-newest: set := apiserver
test-oldest test-previous test-newest:
	@apiserver=$(call tool,$(or $(set),kubernetes-$(@:test-%=%)))/kube-apiserver; "$$apiserver" --version; \
	$(assets) $(read_only) TEST_ASSET_KUBE_APISERVER="$$apiserver" tools/make/ginkgo 4 1h ./tests/integration $(TESTFLAGS)

.PHONY: coverage
coverage: ## Run the tests of `make race` and the integration tests, and fail if they cover less than 90 % of the operator's statements.
	@tools/make/require gcc gcc libc6-dev
	@$(assets) $(read_only) $(unit) COVERED="$(covered)" tools/make/coverage $(least) $(TESTFLAGS)

.PHONY: test-dockerfiles
test-dockerfiles: build ## Build Dockerfiles with buildah and compare the programs with the ones that make builds. Skipped without root.
	@tools/make/test-dockerfiles

.PHONY: curl-image
curl-image:
	@[ -n "$(REGISTRY)" ] || { tools/make/curl-files; tools/make/push-image quay.io/curl/curl:8.14.1 curl; }

.PHONY: e2e-images
e2e-images: images prober-image curl-image ## Build and push the images of the end-to-end tests.
	@$(call compile,metrics-api,./tests/programs/metrics-api)
	@$(call compile,hello,./tests/programs/hello)
	@tools/make/push-image other-server echo-server
	@tools/make/push-image metrics-api
	@[ -n "$(REGISTRY)" ] || tools/make/push-image docker.io/nginxdemos/hello:0.3-plain-text hello

.PHONY: e2e test-e2e e2e-slow
e2e test-e2e: filter := !scale && !must-gather && !slow
e2e test-e2e: processes := 5
e2e: ## Run the end-to-end tests on the test cluster, with real containers. Requires root, or KUBECONFIG and REGISTRY.
test-e2e: ## The same as e2e.
e2e-slow: filter := slow
e2e-slow: processes := 1
e2e-slow: ## Run the slowest end-to-end test: an Echo with an autoscaler. Requires the same.
e2e test-e2e e2e-slow:
	@tools/make/e2e-possible
	@tools/make/require curl curl
	@tools/make/require jq jq
	@$(MAKE) --no-print-directory kubectl-echo PLATFORMS=$$(go env GOOS)/$(GOARCH)
	@$(MAKE) --no-print-directory cluster-up e2e-images
	@KUBECONFIG=$$($(CLUSTER) kubeconfig) tools/make/deploy
	@PROCESSES=$(processes) tools/make/suite apiserver,kwok ./tests/e2e -ginkgo.label-filter='$(filter)' $(TESTFLAGS)

.PHONY: e2e-scale
e2e-scale: ## Create, roll out and delete 2,000 Echoes of two simulated pods, under the operator's default memory limit. 20 minutes. Requires root.
	@tools/make/e2e-possible own
	@$(MAKE) --no-print-directory cluster-up images
	@KUBECONFIG=$$($(CLUSTER) kubeconfig) tools/make/deploy
	@tools/make/suite apiserver,kwok ./tests/e2e -ginkgo.label-filter=scale $(TESTFLAGS)

.PHONY: e2e-monitoring
e2e-monitoring: ## Have a real Prometheus monitor the operator on the test cluster, and fire each alert. 40 minutes. Requires root.
	@tools/make/e2e-possible own
	@$(MAKE) --no-print-directory cluster-up images prober-image
	@tools/make/prometheus-images
	@KUBECONFIG=$$($(CLUSTER) kubeconfig) tools/make/deploy
	@tools/make/suite apiserver ./tests/monitoring $(TESTFLAGS)

.PHONY: e2e-gateways
e2e-gateways: ## Run Echoes behind Traefik on the test cluster. 45 minutes, and 5 to build Traefik. Requires root.
	@tools/make/e2e-possible own
	@$(MAKE) --no-print-directory kubectl-echo PLATFORMS=$$(go env GOOS)/$(GOARCH)
	@$(MAKE) --no-print-directory cluster-up images curl-image
	@tools/make/push-tool traefik traefik docker.io/library/traefik:v3.6.1
	@KUBECONFIG=$$($(CLUSTER) kubeconfig) tools/make/deploy
	@tools/make/suite apiserver ./tests/gateways/traefik $(TESTFLAGS)

.PHONY: e2e-helm
e2e-helm: ## Install, upgrade, roll back, and uninstall the chart with Helm 3 and Helm 4 on the test cluster. 12 minutes. Requires root.
	@tools/make/e2e-possible own
	@$(MAKE) --no-print-directory cluster-up prober-image
	@tools/make/e2e-helm $(TESTFLAGS)
