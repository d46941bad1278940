# The Echo Operator. `make help` lists the targets and the settings. Recipes with more than a few lines are scripts in tools/make.

SHELL := /usr/bin/env bash -o pipefail
.SHELLFLAGS := -ec
.DEFAULT_GOAL := help
# Prerequisites that are commands rely on their order.
.NOTPARALLEL:
export CGO_ENABLED := 0
# The Go version that everything is built with, even on a machine that is configured to use only its own.
export GOTOOLCHAIN := go$(shell sed -n 's/^go //p' go.mod)
# Debug information takes time to compile. The same flags for programs, tests, and tools keep Go's build cache shared.
no_dwarf := -gcflags=all=-dwarf=false
# Tests do not vet all their dependencies, which would take more than a minute of CPU time: `make lint` vets.
test_flags := -vet=off
export GOFLAGS := $(filter-out $(no_dwarf) $(test_flags),$(shell go env GOFLAGS)) $(no_dwarf) $(test_flags)
GOARCH := $(shell go env GOARCH)

##@ Settings (on the command line or in the environment)

#: the version to build
VERSION ?= $(shell cat VERSION)
export VERSION
#: the channels of a release or of the bundle
CHANNELS ?=
#: the directory for built tools, the simulated cluster and the names of pushed images
CACHE ?= $(CURDIR)/.cache
override CACHE := $(abspath $(CACHE))
export CACHE
#: the cluster to use, such as a kind cluster; not set: tests and the demo start one here, and `make deploy` uses kubectl's current cluster
KUBECONFIG ?=
#: where `make images` pushes, such as registry.example.com/team; not set: the registry of the test cluster
REGISTRY ?=
#: the platforms of images and programs, such as linux/amd64,linux/arm64
PLATFORMS ?= linux/$(GOARCH)
#: the prefix of image names
IMAGE_TAG_BASE ?= $(or $(REGISTRY),quay.io/echo-operator)/echo-operator
#: the image of the operator
IMG ?= $(IMAGE_TAG_BASE):v$(VERSION)
#: the image of the echo server; next to IMG, with the same tag
ECHO_SERVER_IMG ?= $(call beside_img,echo-server,ECHO_SERVER_IMG)
#: the image of checks; next to IMG, with the same tag
PATHCHECK_IMG ?= $(call beside_img,echo-operator-pathcheck,PATHCHECK_IMG)
#: the image of the bundle
BUNDLE_IMG ?= $(IMAGE_TAG_BASE)-bundle:v$(VERSION)
#: the image of the catalog
CATALOG_IMG ?= $(IMAGE_TAG_BASE)-catalog:v$(VERSION)
#: a directory with etcd, kube-apiserver, and kubectl, such as the one from setup-envtest; not set: `make test` builds them
KUBEBUILDER_ASSETS ?=
#: more flags for `go test`, such as '-run X -v'
TESTFLAGS ?=
#: more arguments for `make run` and `make must-gather`
ARGS ?=
#: how long each fuzz target runs
FUZZTIME ?= 10s
#: the path of the documentation on its host, for `make docs-site`
SITE_BASE ?= /
#: the private key for `make sign-release`; not set: the identity of the workflow that runs it
COSIGN_KEY ?=
export COSIGN_KEY
#: the vulnerability database for `make vulncheck`, such as https://vuln.go.dev; not set: the pinned module golang.org/x/vulndb
VULNDB ?=

# The names of all settings, for `make help`.
settings = $(shell sed -n '/^#: /{n;s/^export //;s/ .*//p;}' Makefile)

# The platforms that a release is built for.
release_platforms := linux/amd64,linux/arm64,linux/ppc64le,linux/s390x
comma := ,
architectures = $(patsubst linux/%,%,$(subst $(comma), ,$(PLATFORMS)))

# given VARIABLE: not empty if it was set on the command line or in the environment.
given = $(filter command environment,$(firstword $(origin $(1))))

# beside_img NAME,SETTING: the image with a given name next to IMG, with the same tag.
beside_img = $(if $(findstring @,$(IMG)),$(error IMG has a digest: also set $(2)))$(strip \
	)$(if $(findstring /,$(IMG)),$(dir $(IMG)))$(1):$(or $(word 2,$(subst :, ,$(notdir $(IMG)))),latest)

# IMG, ECHO_SERVER_IMG, and PATHCHECK_IMG if any of them was set, directly or through IMAGE_TAG_BASE.
given_images = $(if $(call given,IMG)$(call given,ECHO_SERVER_IMG)$(call given,PATHCHECK_IMG)$(call given,IMAGE_TAG_BASE),$(IMG) $(ECHO_SERVER_IMG) $(PATHCHECK_IMG))

# tool SET: the directory with the programs of a tool set, which are built if they do not exist.
tool = $$(tools/build $(1))

# The same flags for all programs keep Go's build cache shared. The commit is not among them, because a bundle contains the digests
# of its images and must itself be committed.
GO_BUILD := go build -trimpath -buildvcs=false -gcflags=all=-dwarf=false -ldflags "-s -w -X main.version=v$(VERSION)"

# compile PROGRAM,PACKAGE: build a program for each platform.
compile = for arch in $(architectures); do GOOS=linux GOARCH=$$arch $(GO_BUILD) -o bin/linux-$$arch/$(1) $(2); done

# build_image: build an image from the programs in bin/. It needs neither root nor a container engine.
build_image = PLATFORMS=$(PLATFORMS) tools/make/image

CLUSTER := go run -trimpath ./tests/cluster

# Separate modules, because of their dependencies. `make test` also tests the modules of tool sets that have tests.
test_modules := tests/clients tests/packaging
tested_tools := tools/generate tools/vulncheck

##@ General

.PHONY: help
help: ## Show this help.
	@$(foreach setting,$(settings),$(setting)='$($(setting))') tools/make/help $(MAKEFILE_LIST)

.PHONY: versions
versions: ## Show the versions of the tools.
	@tools/make/versions

.PHONY: tools
tools: ## Build all tools. Other targets build the tools that they need automatically.
	@tools/build $(filter-out cluster,$(patsubst tools/%/go.mod,%,$(wildcard tools/*/go.mod))) \
		$(patsubst tools/cluster/%/,%,$(wildcard tools/cluster/*/))

.PHONY: clean
clean: ## Remove all build results. Tools are rebuilt when they are needed.
	rm -rf bin dist $(foreach folder,tools debian vulndb images screenshots coverage demo releases olm-manifests,"$(CACHE)/$(folder)")

##@ Development

.PHONY: generate
generate: ## Generate the API's deep-copy code, its reference in docs/reference/api.md, the gRPC services, the chart's page, and the parts of files that depend on the tables of kinds and groups.
	@go run -trimpath ./tools/tables
	@tools=$(call tool,generate); "$$tools/controller-gen" object paths=./api/...
	@tools=$(call tool,generate); module=module=github.com/echo-operator/echo-operator; \
	"$$tools/proto-code" echoserver/proto . "$$tools/protoc-gen-go=$$module" "$$tools/protoc-gen-connect-go=$$module,package_suffix=,simple"
	@tools=$(call tool,docs); "$$tools/crd-ref-docs" --renderer=markdown --log-level=ERROR --source-path=api/v1 \
		--config=tools/docs/config.yaml --templates-dir=tools/docs/templates --output-path=docs/reference/api.md
	@$(call tool,docs)/helm-docs --chart-search-root=charts --log-level=warning

.PHONY: manifests
manifests: ## Generate the CustomResourceDefinition and the operator's role, also for the chart, and its dashboard for the OpenShift console.
	@$(call tool,generate)/controller-gen crd paths=./api/... output:crd:dir=config/crd/bases
	@$(call tool,generate)/controller-gen rbac:roleName=manager-role paths=./controllers/... output:rbac:dir=config/rbac
	@$(call tool,generate)/manifests crd config/crd/bases/example.com_echoes.yaml '-spec.resources.claims' '-spec.env[].valueFrom.fileKeyRef' \
		spec.env spec.resources spec.service.ipFamilies spec.podSecurityContext spec.securityContext spec.tolerations spec.affinity \
		spec.topologySpreadConstraints spec.networkPolicy.from status.conditions
	@cp config/crd/bases/example.com_echoes.yaml charts/echo-operator/files/echoes.yaml
	@cp config/rbac/role.yaml charts/echo-operator/files/role.yaml
	@cp config/components/admission-policy/admission_policy.yaml charts/echo-operator/files/admission-policy.yaml
	@$(call tool,generate)/manifests dashboard config/grafana/echo-operator.json >config/grafana/openshift.yaml

.PHONY: fmt
fmt: ## Format the Go code.
	@gofmt -l -w .

.PHONY: vet
vet: ## Run go vet.
	@for module in . $(test_modules) $(tested_tools); do (cd "$$module" && go vet ./...); done

.PHONY: lint lint-fix
lint: ## Run the linters, and check the spelling and vocabulary of documentation, manifests, and code.
lint-fix: ## Run the linters and fix what they can fix.
lint-fix: lint_flags := --fix
lint lint-fix:
	@tools=$(call tool,lint); for module in . $(test_modules) $(tested_tools); do \
		(cd "$$module" && "$$tools/golangci-lint" run --allow-parallel-runners $(lint_flags) ./...); done
	@$(call tool,lint)/golangci-lint-kube-api-linter run -c .golangci-kal.yml ./api/...
	@$(call tool,lint)/actionlint -shellcheck= -pyflakes= .github/workflows/*.yml
	@tools/make/words

# Tidying Traefik's module would download all modules that its dependencies depend on: gigabytes.
tidied := . $(dir $(filter-out tools/traefik/%,$(wildcard tools/*/go.mod))) $(test_modules)

.PHONY: surface
surface: ## Write docs/reference/surface.md, the names that users can depend on, and fail if one is not documented.
	@go run -trimpath ./tests/surface >docs/reference/surface.md

.PHONY: verify
verify: generate manifests bundle catalog surface ## Fail if a generated file is out of date, a go.mod is not tidy, or documented commands are neither run nor marked.
	@tools/make/verify $(tidied)
	@go run -trimpath ./tests/commands

# Its go.mod has no replace directives, so that it needs no module here.
kube_score := github.com/zegl/kube-score/cmd/kube-score@v1.20.0

.PHONY: kube-score
kube-score: ## Fail if kube-score has a finding about the manifests, the chart, or the objects of an Echo that docs/explanation/security.md does not address.
	@GOBIN="$(CACHE)/tools/kube-score" go install $(kube_score)
	@cd tests/packaging && KUBE_SCORE="$(CACHE)/tools/kube-score/kube-score" go test -trimpath -count=1 -run KubeScore $(TESTFLAGS) .

.PHONY: vulncheck
vulncheck: ## Check the released programs for known vulnerabilities with govulncheck.
	@tools/make/vulncheck $(VULNDB)

.PHONY: update-vulndb
update-vulndb: ## Pin the newest vulnerability database for `make vulncheck`.
	@go get -C tools/vulncheck golang.org/x/vulndb@latest
	@go mod tidy -C tools/vulncheck

.PHONY: run
run: install ## Run the operator on this machine, against the current cluster.
	RELATED_IMAGE_ECHO_SERVER=$${RELATED_IMAGE_ECHO_SERVER:-$(ECHO_SERVER_IMG)} \
	RELATED_IMAGE_PATHCHECK=$${RELATED_IMAGE_PATHCHECK:-$(PATHCHECK_IMG)} \
		go run -trimpath -ldflags "-X main.version=v$(VERSION)" . --zap-encoder=console $(ARGS)

##@ Images

.PHONY: build
build: ## Build the operator, the echo server, pathcheck, and the scorecard tests for PLATFORMS into bin/.
	@echo "building programs for $(PLATFORMS)"
	@$(call compile,manager,.)
	@$(call compile,echo-server,./cmd/echo-server)
	@$(call compile,echo-scorecard,./cmd/scorecard)
	@$(call compile,pathcheck,./cmd/pathcheck)

.PHONY: kubectl-echo
kubectl-echo: ## Build the kubectl plugin for PLATFORMS, which may be other than Linux, into bin/.
	@for platform in $(subst $(comma), ,$(PLATFORMS)); do \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO_BUILD) -o bin/$${platform/\//-}/ ./cmd/kubectl-echo; done

.PHONY: images
images: build ## Build the images and push them to REGISTRY, or to the registry of the test cluster, for `make deploy`.
	@tools/make/push-image echo-operator
	@tools/make/push-image echo-server
	@tools/make/push-image echo-operator-pathcheck

.PHONY: prober-image
prober-image: ## The same for the image that sends requests in tests and in the demo.
	@$(call compile,prober,./tests/programs/prober)
	@tools/make/push-image prober

# An archive has one platform.
docker-build bundle-build catalog-build: override PLATFORMS := $(if $(findstring $(comma),$(PLATFORMS)),linux/$(GOARCH),$(PLATFORMS))

.PHONY: docker-build
docker-build: build ## Build IMG, ECHO_SERVER_IMG, and PATHCHECK_IMG as archives for `docker load` in bin/images. Does not require Docker.
	@$(build_image) echo-operator archive bin/images/echo-operator.tar $(IMG)
	@$(build_image) echo-server archive bin/images/echo-server.tar $(ECHO_SERVER_IMG)
	@$(build_image) echo-operator-pathcheck archive bin/images/echo-operator-pathcheck.tar $(PATHCHECK_IMG)

.PHONY: demo-archives
demo-archives: docker-build
	@$(call compile,prober,./tests/programs/prober)
	@$(build_image) prober archive bin/images/prober.tar $(call beside_img,prober,IMG)

.PHONY: docker-push docker-buildx
docker-push: ## Build IMG, ECHO_SERVER_IMG, and PATHCHECK_IMG for PLATFORMS and push them, with the credentials of `docker login`.
docker-buildx: ## The same for amd64, arm64, ppc64le, and s390x, or for PLATFORMS if set.
docker-buildx: PLATFORMS := $(if $(call given,PLATFORMS),$(PLATFORMS),$(release_platforms))
docker-push docker-buildx: build
	@$(build_image) echo-operator push $(IMG)
	@$(build_image) echo-server push $(ECHO_SERVER_IMG)
	@$(build_image) echo-operator-pathcheck push $(PATHCHECK_IMG)

##@ Deployment

.PHONY: install
install: ## Install the CustomResourceDefinition into the current cluster.
	@kubectl=$$(tools/make/kubectl); \
	"$$kubectl" kustomize config/crd | "$$kubectl" apply --server-side --force-conflicts -f -; \
	KUBECTL=$$kubectl tools/make/wait-for-crds --timeout=30s crd/echoes.example.com

.PHONY: uninstall
uninstall: ## Delete all Echoes, then the CustomResourceDefinition, from the current cluster.
	@tools/make/delete-echoes
	@kubectl=$$(tools/make/kubectl); "$$kubectl" delete crd echoes.example.com --ignore-not-found

.PHONY: deploy
deploy: ## Deploy the operator to the current cluster, from the images of `make images`, or from IMG, ECHO_SERVER_IMG, and PATHCHECK_IMG if set.
	@tools/make/deploy $(given_images)

.PHONY: undeploy
undeploy: ## Delete all Echoes, then the operator, from the current cluster.
	@tools/make/delete-echoes
	@kubectl=$$(tools/make/kubectl); "$$kubectl" kustomize config/default | "$$kubectl" delete --ignore-not-found -f -

.PHONY: build-installer
build-installer: ## Write dist/install.yaml, which installs the operator from IMG, ECHO_SERVER_IMG, and PATHCHECK_IMG.
	@mkdir -p dist
	@tools/make/installer $(IMG) $(ECHO_SERVER_IMG) $(PATHCHECK_IMG) >dist/install.yaml

##@ Cluster

.PHONY: demo
demo: ## See the operator run: a cluster, OLM, the operator, two echo servers and their responses. OLM=no is faster.
	@tools/demo

.PHONY: demo-down
demo-down: cluster-down ## Stop the cluster that the demo started.
	@tools/make/kind down

.PHONY: cluster-up
cluster-up: ## Start the test cluster. If KUBECONFIG is set, check that cluster instead.
	@$(CLUSTER) up

.PHONY: cluster-down
cluster-down: ## Stop the test cluster. The images in its registry stay.
	@$(CLUSTER) down

.PHONY: cluster-wipe
cluster-wipe: ## Stop the test cluster and remove all its files.
	@$(CLUSTER) wipe

.PHONY: kubeconfig
kubeconfig: ## Print the path of the test cluster's kubeconfig.
	@$(CLUSTER) kubeconfig

include tools/make/tests.mk tools/make/benchmark.mk tools/make/echo-server.mk tools/make/must-gather.mk tools/make/olm.mk tools/make/release.mk tools/make/site.mk
