# The Echo Operator. `make help` lists what can be done.

VERSION := $(shell cat VERSION)
SHELL := /usr/bin/env bash -o pipefail
.SHELLFLAGS := -ec
.DEFAULT_GOAL := help

##@ Settings (give them on the command line or in the environment)

# Where built tools, the simulated cluster and image digests are kept.
export CACHE ?= $(CURDIR)/.cache
# With KUBECONFIG (and REGISTRY, a prefix such as registry.example.com/team, to push images to) in the environment,
# everything below works on that cluster instead of one of its own.

##@ Versions of the tools: each is pinned by the go.mod of its tool set and read from there

pinned = $(shell awk '$$1 == "$(2)" {print $$2; exit} $$1 == "require" && $$2 == "$(2)" {print $$3; exit}' tools/$(1)/go.mod)
KUBERNETES_VERSION := $(call pinned,kubernetes,k8s.io/kubernetes)
OLDEST_KUBERNETES_VERSION := $(call pinned,kubernetes-oldest,k8s.io/kubernetes)
ETCD_VERSION := $(call pinned,kubernetes,go.etcd.io/etcd/server/v3)
COREDNS_VERSION := $(call pinned,coredns,github.com/coredns/coredns)
REGISTRY_VERSION := $(call pinned,registry,github.com/distribution/distribution/v3)
KWOK_VERSION := $(call pinned,kwok,sigs.k8s.io/kwok)
CONTROLLER_GEN_VERSION := $(call pinned,generate,sigs.k8s.io/controller-tools)
OPERATOR_SDK_VERSION := $(call pinned,operator-sdk,github.com/operator-framework/operator-sdk)
OPM_VERSION := $(call pinned,opm,github.com/operator-framework/operator-registry)
OLM_VERSION := $(call pinned,olm,github.com/operator-framework/operator-lifecycle-manager)
OLMV1_VERSION := $(call pinned,olmv1,github.com/operator-framework/operator-controller)
KUSTOMIZE_VERSION := $(call pinned,generate,sigs.k8s.io/kustomize/kustomize/v5)
CRD_REF_DOCS_VERSION := $(call pinned,docs,github.com/elastic/crd-ref-docs)
GOLANGCI_LINT_VERSION := $(call pinned,lint,github.com/golangci/golangci-lint/v2)

# Tests that bring a lot with them are Go modules of their own.
test_modules := tests/clients tests/packaging

# tool SET: the folder with the programs of a tool set, built first if need be.
tool = $$(tools/build $(1))

# One set of flags for all that is built here, so that Go's build cache is shared. Which commit it is stays out: a bundle has its
# images' digests, and must be committed itself.
export CGO_ENABLED := 0
GO_BUILD := go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=v$(VERSION)"
GOARCH := $(shell go env GOARCH)
ARCHITECTURES ?= $(GOARCH)
CLUSTER := go run -trimpath ./tests/cluster

##@ General

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"; printf "usage: make \033[36m<target>\033[0m\n"} \
		/^[a-zA-Z_-]+:.*?##/ {printf "  \033[36m%-16s\033[0m %s\n", $$1, $$2} \
		/^##@ [A-Z][a-z]+$$/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)}' $(MAKEFILE_LIST)

.PHONY: versions
versions: ## Show the versions of the tools.
	@printf '%-16s %s\n' Kubernetes $(KUBERNETES_VERSION) "the oldest" $(OLDEST_KUBERNETES_VERSION) etcd $(ETCD_VERSION) CoreDNS $(COREDNS_VERSION) \
		registry $(REGISTRY_VERSION) kwok $(KWOK_VERSION) controller-gen $(CONTROLLER_GEN_VERSION) \
		kustomize $(KUSTOMIZE_VERSION) operator-sdk $(OPERATOR_SDK_VERSION) opm $(OPM_VERSION) OLM $(OLM_VERSION) "OLM v1" $(OLMV1_VERSION) crd-ref-docs $(CRD_REF_DOCS_VERSION) golangci-lint $(GOLANGCI_LINT_VERSION)

.PHONY: tools
tools: ## Build all tools (other targets build what they need by themselves).
	@for set in tools/*/go.mod; do tools/build "$$(basename "$$(dirname "$$set")")"; done

.PHONY: clean
clean: ## Remove what was built; the tools are built anew when next needed.
	rm -rf bin "$(CACHE)"

##@ Development

.PHONY: generate
generate: ## Generate the deep-copy code of the API, and its reference in docs/api.md.
	@tools=$(call tool,generate); "$$tools/controller-gen" object paths=./api/...
	@tools=$(call tool,docs); "$$tools/crd-ref-docs" --renderer=markdown --log-level=ERROR --source-path=api/v1 \
		--config=tools/docs/config.yaml --templates-dir=tools/docs/templates --output-path=docs/api.md

.PHONY: manifests
manifests: ## Generate the CustomResourceDefinition and the operator's role.
	@tools=$(call tool,generate); \
	"$$tools/controller-gen" crd paths=./api/... output:crd:dir=config/crd/bases; \
	"$$tools/controller-gen" rbac:roleName=manager-role paths=./controllers/... output:rbac:dir=config/rbac; \
	"$$tools/strip-descriptions" config/crd/bases/example.com_echoes.yaml spec.env spec.resources \
		spec.podSecurityContext spec.securityContext spec.tolerations spec.affinity spec.topologySpreadConstraints status.conditions

# openshift is the first version that has the oldest supported Kubernetes.
openshift := v4.17
base := config/manifests/bases/echo-operator.clusterserviceversion.yaml
channels := config/catalog/channels.yaml
# digests are those of a release's images. Between releases there are none, and images are named by tag.
digests := config/manifests/digests

.PHONY: bundle
bundle: manifests ## Generate the OLM bundle.
	@sdk=$(call tool,operator-sdk)/operator-sdk; tools=$(call tool,generate); rm -rf bundle; \
	"$$sdk" generate kustomize manifests -q --interactive=false; \
	"$$tools/kustomize" build config/manifests | "$$sdk" generate bundle -q --overwrite --version $(VERSION) \
		--package echo-operator --channels "$$("$$tools/channels" of $(channels) $(VERSION) | paste -sd, -)" \
		--default-channel "$$("$$tools/channels" default $(channels))" 2>/dev/null; \
	"$$tools/pin-images" $(digests) bundle/manifests/*.yaml bundle/tests/scorecard/*.yaml; \
	"$$tools/finish-bundle" bundle/manifests/echo-operator.clusterserviceversion.yaml $(base) config/manifests/icon.svg $(openshift); \
	said=$$("$$sdk" bundle validate ./bundle --select-optional suite=operatorframework 2>&1) || { echo "$$said"; exit 1; }; \
	if grep -q 'level=warning' <<<"$$said"; then echo "$$said"; echo "bundle: warnings count as errors"; exit 1; fi; echo "bundle: valid, without a warning"

.PHONY: catalog
catalog: bundle ## Generate the file-based catalog: its channels are config/catalog/channels.yaml, and other versions' bundles stay.
	@opm=$(call tool,opm)/opm; tools=$(call tool,generate); out=catalog/echo-operator; mkdir -p $$out; \
	"$$opm" init echo-operator --default-channel="$$("$$tools/channels" default $(channels))" --description=config/catalog/description.md --icon=config/manifests/icon.svg -o yaml >$$out/package.yaml; \
	grep -v '^#' $(channels) >$$out/channels.yaml; \
	"$$opm" render ./bundle --alpha-image-ref-template 'quay.io/echo-operator/echo-operator-bundle:v{{.Version}}' \
		--migrate-level=bundle-object-to-csv-metadata -o yaml >$$out/v$(VERSION).yaml; \
	"$$tools/pin-images" $(digests) $$out/v$(VERSION).yaml; \
	"$$opm" validate catalog; echo "catalog: valid"

.PHONY: verify
verify: generate manifests bundle catalog ## Fail when a generated file is not current, or go.mod is not tidy.
	@for module in . tools/*/ $(test_modules); do (cd "$$module" && go mod tidy -diff) || { echo "go.mod of $$module is not tidy: run go mod tidy there"; exit 1; }; done
	@changed=$$(git status --porcelain -- api config docs bundle bundle.Dockerfile catalog); if [ -n "$$changed" ]; then \
		git --no-pager diff -- api config docs bundle bundle.Dockerfile catalog; echo "$$changed"; \
		echo "verify: these generated files are not current, or not committed: run 'make generate manifests bundle catalog' and commit them"; exit 1; fi
	@echo "verify: generated files are current"

.PHONY: lint
lint: ## Run the linters.
	@tools=$(call tool,lint); for module in . $(test_modules); do (cd "$$module" && "$$tools/golangci-lint" run ./...); done
	@tools=$(call tool,lint); "$$tools/actionlint" -shellcheck= -pyflakes= .github/workflows/*.yml

.PHONY: build
build: ## Build the operator, the echo server and the tests' programs for Linux, on this machine's architecture or ARCHITECTURES.
	@echo "building the operator, the echo server and the tests' programs"
	@for arch in $(ARCHITECTURES); do export GOOS=linux GOARCH=$$arch; \
		$(GO_BUILD) -o bin/linux-$$arch/manager .; \
		$(GO_BUILD) -o bin/linux-$$arch/echo-server ./echoserver; \
		$(GO_BUILD) -o bin/linux-$$arch/echo-scorecard ./scorecard; \
		$(GO_BUILD) -o bin/linux-$$arch/prober ./tests/programs/prober; done

# What a catalog that serves itself needs: opm, and the probe that OLM gives catalogs.
.PHONY: opm-files
opm-files:
	@umask 022; for arch in $(ARCHITECTURES); do opm=$$(GOOS=linux GOARCH=$$arch tools/build opm); out=bin/linux-$$arch/opm; \
		rm -rf $$out; mkdir -p $$out/bin $$out/tmp; chmod 1777 $$out/tmp; \
		cp "$$opm/opm" $$out/bin/; cp "$$opm/grpc-health-probe" $$out/bin/grpc_health_probe; done

# Modes go into images, whatever the umask, and the cache of a catalog even counts those of its files. opm takes the format that it finds: that in JSON is the same at each run,
# its usual one is not.
.PHONY: catalog-cache
catalog-cache:
	@umask 022; opm=$(call tool,opm)/opm; rm -rf bin/catalog-cache; mkdir -p bin/catalog-cache; mkdir -m 750 bin/catalog-cache/cache; touch bin/catalog-cache/digest; \
	chmod -R u=rwX,go=rX catalog; "$$opm" serve catalog --cache-dir=bin/catalog-cache --cache-only 2>/dev/null

.PHONY: run
run: install ## Run the operator here, on the current cluster.
	RELATED_IMAGE_ECHO_SERVER=$${RELATED_IMAGE_ECHO_SERVER:-quay.io/echo-operator/echo-server:v$(VERSION)} \
		go run -trimpath -ldflags "-X main.version=v$(VERSION)" . --zap-encoder=console $(ARGS)

##@ Deployment

# Echoes go before the operator, which lets them go only when their pods are gone.
delete_echoes = if [ -n "$$("$$kubectl" get crd echoes.example.com --ignore-not-found -o name)" ]; then \
	"$$kubectl" delete echoes --all --all-namespaces --timeout=3m || \
	{ echo "Echoes remain: is the operator running? docs/install.md has the way without it."; exit 1; }; fi

# image NAME,DOCKERFILE: build and push an image, and keep its name by digest.
image = reference=$$(tools/image $(1) $(2)); echo "$$reference" | tee "$(CACHE)/images/$(1)"

.PHONY: images
images: build ## Build the images and push them, to REGISTRY or the test cluster's own.
	@mkdir -p "$(CACHE)/images"
	@$(call image,echo-operator,Dockerfile)
	@$(call image,echo-server,echoserver/Dockerfile)
	@$(call image,prober,tests/programs/prober/Dockerfile)

.PHONY: install
install: ## Install the CustomResourceDefinition into the current cluster.
	@tools=$(call tool,generate); kubectl=$(call tool,kubernetes)/kubectl; \
	"$$tools/kustomize" build config/crd | "$$kubectl" apply --server-side --force-conflicts -f -; \
	"$$kubectl" wait --for=condition=Established --timeout=30s crd/echoes.example.com >/dev/null

.PHONY: uninstall
uninstall: ## Delete all Echoes, and then the CustomResourceDefinition, from the current cluster.
	@kubectl=$(call tool,kubernetes)/kubectl; $(delete_echoes); \
	"$$kubectl" delete crd echoes.example.com --ignore-not-found

.PHONY: deploy
deploy: ## Deploy the operator, from the images of `make images`, into the current cluster.
	@kubectl=$(call tool,kubernetes)/kubectl; if "$$kubectl" get subscriptions.operators.coreos.com -A -o name 2>/dev/null | grep -q echo-operator; then \
		echo "deploy: OLM has installed the operator here: uninstall it first, as docs/install.md says, or begin anew by 'make cluster-down'"; exit 1; fi
	@[ -s "$(CACHE)/images/echo-operator" ] && [ -s "$(CACHE)/images/echo-server" ] || { echo "deploy: there are no images yet: run 'make images'"; exit 1; }
	@tools=$(call tool,generate); kubectl=$(call tool,kubernetes)/kubectl; \
	"$$tools/kustomize" build config/default | sed \
		-e "s|quay.io/echo-operator/echo-operator:v$(VERSION)|$$(cat "$(CACHE)/images/echo-operator")|" \
		-e "s|quay.io/echo-operator/echo-server:v$(VERSION)|$$(cat "$(CACHE)/images/echo-server")|" | \
		"$$kubectl" apply --server-side --force-conflicts -f -; \
	"$$kubectl" rollout status --timeout=2m -n echo-operator-system deployment/echo-operator-controller-manager

.PHONY: undeploy
undeploy: ## Delete all Echoes, and then the operator, from the current cluster.
	@tools=$(call tool,generate); kubectl=$(call tool,kubernetes)/kubectl; $(delete_echoes); \
	"$$tools/kustomize" build config/default | "$$kubectl" delete --ignore-not-found -f -

##@ Release

.PHONY: release
release: ## Make the release VERSION in CHANNELS (candidate): the tree's bundle and catalog, and dist/. Pushes nothing.
	@$(call package,buildah,buildah); tools/release/make "$(VERSION)" $(CHANNELS)
	@cd tests/packaging && go test -trimpath -count=1 ./...

.PHONY: next-version
next-version: ## Make the tree that of the next VERSION to be released.
	@tools/release/open-version "$(VERSION)"; $(MAKE) --no-print-directory bundle catalog

.PHONY: push-release
push-release: ## Push the images that `make release` made to quay.io/echo-operator, or to REGISTRY.
	@ls dist/images/*/index.json >/dev/null 2>&1 || { echo "push-release: there are no images: run 'make release VERSION=...' first"; exit 1; }
	@$(call package,skopeo,skopeo); to=$${REGISTRY:-quay.io/echo-operator}; for layout in dist/images/*; do \
		image=$$to/$$(basename $$layout):v$(VERSION); echo "$$image"; \
		skopeo copy --quiet --all --preserve-digests $(SKOPEO_FLAGS) oci:$$layout:v$(VERSION) docker://$$image; done

##@ Cluster

.PHONY: demo
demo: ## See it run: a cluster, OLM, the operator, two echo servers, and their answers. Starts from nothing; OLM=no is quicker.
	@tools/demo

.PHONY: demo-down
demo-down: cluster-down ## Stop what the demo started.

.PHONY: cluster-up
cluster-up: ## Start the test cluster (with KUBECONFIG set: check that one).
	@$(CLUSTER) up

.PHONY: cluster-down
cluster-down: ## Stop the test cluster; its images stay in its registry.
	@$(CLUSTER) down

.PHONY: cluster-wipe
cluster-wipe: ## Stop the test cluster and remove everything it keeps.
	@$(CLUSTER) wipe

.PHONY: kubeconfig
kubeconfig: ## Print the path of the test cluster's kubeconfig.
	@$(CLUSTER) kubeconfig

##@ Tests

# Go's cache of test results does not see what tests/packaging reads outside of its module: -count=1 does without.
.PHONY: test
test: ## Run the unit tests, and the integration tests on a real API server. Needs no root.
	@assets=$(call tool,kubernetes); \
	KUBEBUILDER_ASSETS="$$assets" go test -trimpath $(TESTFLAGS) $$(go list ./... | grep -vE '/tests/(e2e|olm)$$')
	@cd tests/packaging && go test -trimpath -count=1 $(TESTFLAGS) ./...
	@cd tools/generate && go test -trimpath $(TESTFLAGS) ./...

.PHONY: test-oldest
test-oldest: ## Run the integration tests on the oldest API server that is supported. Needs no root.
	@assets=$(call tool,kubernetes); oldest=$(call tool,kubernetes-oldest)/kube-apiserver; "$$oldest" --version; \
	KUBEBUILDER_ASSETS="$$assets" TEST_ASSET_KUBE_APISERVER="$$oldest" go test -trimpath -count=1 ./tests/integration $(TESTFLAGS)

# least is the part of controllers/, in percent of its statements, that the tests must reach.
least := 90

.PHONY: coverage
coverage: ## Measure what the tests reach of controllers/, and fail below 90 % of its statements.
	@mkdir -p "$(CACHE)"; assets=$(call tool,kubernetes); \
	KUBEBUILDER_ASSETS="$$assets" go test -trimpath -count=1 -coverpkg=./controllers -coverprofile="$(CACHE)/coverage" ./controllers ./tests/integration; \
	go tool cover -func="$(CACHE)/coverage" | awk '$$3 + 0 < 100 {print $$3, $$1, $$2} \
		$$1 == "total:" && $$3 + 0 < $(least) {print "coverage: less than $(least) %"; exit 1}'

.PHONY: test-release
test-release: ## Make the release that the tree would be, twice, and compare; for amd64 and arm64. Needs buildah, and installs it as root.
	@$(call package,buildah,buildah); tools/release/check

# Specs run in random order. Ginkgo's time limit lets them clean up, which Go's own does not.
suite_flags := -ginkgo.randomize-all -timeout=0 -ginkgo.timeout=3h

.PHONY: e2e-possible
e2e-possible:
	@{ read -r kind && read -r why; } < <(go run -trimpath ./tests/cluster/detect); if [ "$$kind" = simulated ]; then \
		echo "e2e: real containers cannot run here: $$why. Run it as root on Linux, or set KUBECONFIG and REGISTRY."; exit 1; fi

.PHONY: e2e-images
e2e-images: images
	@for program in metrics-api hello; do GOOS=linux $(GO_BUILD) -o bin/linux-$(GOARCH)/$$program ./tests/programs/$$program; done
	@$(call image,other-server,echoserver/Dockerfile)
	@$(call image,metrics-api,tests/programs/metrics-api/Dockerfile)
	@if [ -z "$$REGISTRY" ]; then tools/image nginxdemos/hello:0.3-plain-text tests/programs/hello/Dockerfile; fi

.PHONY: e2e
e2e: e2e-possible cluster-up e2e-images ## Run the end-to-end tests on the test cluster, with real containers. Needs root, or KUBECONFIG and REGISTRY.
	@$(call package,curl,curl); tools=$(call tool,kubernetes); kwok=$(call tool,kwok); KUBECONFIG=$$($(CLUSTER) kubeconfig); export KUBECONFIG; $(MAKE) --no-print-directory deploy; \
	PATH="$$tools:$$kwok:$$PATH" IMAGES="$(CACHE)/images" go test -trimpath -count=1 -v ./tests/e2e $(suite_flags) $(TESTFLAGS)

# busybox is the shell in the images of tests.
.PHONY: busybox
busybox:
	@$(call package,busybox,busybox-static); rm -rf bin/busybox; mkdir -p bin/busybox; cp "$$(command -v busybox)" bin/busybox/; \
	for tool in sh cp cat mkdir tar gzip gunzip base64 sleep; do ln -s busybox bin/busybox/$$tool; done

.PHONY: olm-images
olm-images: build opm-files busybox
	@mkdir -p "$(CACHE)/images"
	@$(call image,prober,tests/programs/prober/Dockerfile)
	@olm=$(call tool,olm); rm -rf bin/olm; mkdir -p bin/olm; cp "$$olm"/{olm,catalog,package-server,copy-content,cpb} bin/olm/; \
	tools/image operator-framework/olm:$(OLM_VERSION) tests/olm/images/olm.Dockerfile; \
	tools/image operator-framework/opm:$(OPM_VERSION) tests/olm/images/opm.Dockerfile

# own_cluster: refuse a cluster that is not the tests' own.
own_cluster = [ -z "$$KUBECONFIG$$REGISTRY" ] || { echo "$@: works on the test cluster only: unset KUBECONFIG and REGISTRY"; exit 1; }

# What operator-sdk's scorecard and run bundle bring into a cluster, and what an example asks for.
.PHONY: operator-sdk-images
operator-sdk-images: busybox
	@sdk=$(call tool,operator-sdk); rm -rf bin/scorecard; mkdir -p bin/scorecard; cp "$$sdk/scorecard-test" bin/scorecard/; \
	tools/image operator-framework/scorecard-test:$(OPERATOR_SDK_VERSION) tests/olm/images/scorecard-test.Dockerfile; \
	tools/image operator-framework/scorecard-untar:$(OPERATOR_SDK_VERSION) tests/olm/images/busybox.Dockerfile; \
	tools/image ubi9/ubi:9.7 tests/olm/images/busybox.Dockerfile; \
	GOOS=linux $(GO_BUILD) -o bin/linux-$(GOARCH)/hello ./tests/programs/hello; tools/image nginxdemos/hello:0.3-plain-text tests/programs/hello/Dockerfile

# Lines with $(MAKE) stand alone, because `make -n` runs them. The releases are the throwaway ones that the suite installs and
# upgrades to.
.PHONY: e2e-olm e2e-olm-all scorecard
e2e-olm: releases := good good
e2e-olm: filter := !all
e2e-olm: ## Install, set up, upgrade and remove the operator by a real OLM, with scorecard, on the test cluster. Needs root.
e2e-olm-all: releases := good good broken good
e2e-olm-all: filter := all
e2e-olm-all: ## The rest of it: approval, install modes, failures, the wrong order, OLM v1. About half an hour. Needs root.
scorecard: releases := good
scorecard: filter := scorecard
scorecard: ## Run scorecard's tests of the bundle, and of the operator that OLM installed, on the test cluster. Needs root.
e2e-olm e2e-olm-all scorecard: e2e-possible
	@$(own_cluster)
	@$(MAKE) --no-print-directory cluster-up
	@$(MAKE) --no-print-directory olm-images operator-sdk-images
	@$(call package,skopeo,skopeo); tools=$(call tool,kubernetes); sdk=$(call tool,operator-sdk); KUBECONFIG=$$($(CLUSTER) kubeconfig); export KUBECONFIG; \
	tests/olm/install-olm; [ '$(filter)' != all ] || tools/build olmv1 >/dev/null; \
	echo "making throwaway releases: $(releases)"; VERSIONS=$$(tools/release/throwaway $(releases) | xargs); echo "made $$VERSIONS"; \
	PATH="$$tools:$$sdk:$$PATH" IMAGES="$(CACHE)/images" VERSIONS="$$VERSIONS" \
		go test -trimpath -count=1 -v ./tests/olm $(suite_flags) $(TESTFLAGS) -ginkgo.label-filter='$(filter)'

##@ Echoserver

# package COMMAND,PACKAGES: install Debian's packages with a command that is missing.
package = command -v $(1) >/dev/null || { \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then echo "$@: $(1) is missing; on Debian: apt-get install $(2)"; exit 1; fi; \
	echo "$@: installing $(2)"; export DEBIAN_FRONTEND=noninteractive; \
	apt-get update -qq && apt-get install -y -qq --no-install-recommends $(2) >/dev/null; }

.PHONY: race
race: ## Run the echo server's tests under the race detector. Needs a C compiler.
	@$(call package,gcc,gcc libc6-dev); CGO_ENABLED=1 go test -trimpath -race -short -count=1 $(TESTFLAGS) ./echoserver

FUZZTIME ?= 10s
.PHONY: fuzz
fuzz: ## Feed the echo server's parsers and handler with random requests, each for FUZZTIME (10s).
	@for target in $$(go test -trimpath -list '^Fuzz' ./echoserver | grep '^Fuzz'); do \
		go test -trimpath -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) ./echoserver; done

.PHONY: test-clients
test-clients: ## Test the echo server with headless Chromium and the Gateway API's client; screenshots go to .cache/screenshots.
	@$(call package,chromium,chromium fonts-dejavu-core); mkdir -p "$(CACHE)/screenshots"; \
	cd tests/clients && SCREENSHOTS="$(CACHE)/screenshots" go test -trimpath -count=1 $(TESTFLAGS) ./...

.PHONY: test-image
test-image: ## Build the echo server's image for amd64 and arm64, hold it to its limits and run it as anybody. Needs root.
	@$(call package,buildah,buildah); for arch in amd64 arm64; do GOOS=linux GOARCH=$$arch $(GO_BUILD) -o bin/linux-$$arch/echo-server ./echoserver; done; \
	tests/echo-server-image

.PHONY: benchmark-echoserver
benchmark-echoserver: ## Measure the echo server and its peers, relative to the least that a server in Go costs. Needs two cores.
	@peers=$(call tool,echo-peers); $(GO_BUILD) -o bin/benchmark/ ./echoserver ./tests/benchmark/echoserver/hello; \
	$(GO_BUILD) -o bin/benchmark/load ./tests/benchmark/echoserver; \
	taskset --cpu-list 1 bin/benchmark/load --core=0 \
		"hello / bin/benchmark/hello {address}" \
		"echo-server / bin/benchmark/echoserver --http-addr={address} --admin-addr=127.0.0.1:0" \
		"hashicorp/http-echo / $$peers/http-echo -listen={address} -text=hello" \
		"go-httpbin /get $$peers/go-httpbin -host 127.0.0.1 -port {port}"
