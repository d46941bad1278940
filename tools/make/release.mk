##@ Release

.PHONY: release release-files
release: release-files ## Make the release VERSION in CHANNELS (candidate): the bundle, the catalog, and dist/. Pushes nothing.
	@cd tests/packaging && go test -trimpath -count=1 ./...
release-files:
	@tools/release/make "$(VERSION)" $(subst $(comma), ,$(CHANNELS))

.PHONY: next-version
next-version: ## Prepare the tree for VERSION, the next version to release.
	@tools/release/open-version "$(VERSION)"
	@$(MAKE) --no-print-directory bundle catalog

.PHONY: sbom
sbom: ## Write bills of materials of the images and archives of `make release`, as SPDX, to dist/sbom. 5 minutes to build syft.
	@tools/make/sbom "$(VERSION)"

.PHONY: push-release push-release-images
push-release: sbom push-release-images ## Push the images, their bills of materials and the chart of `make release` to quay.io/echo-operator, or to REGISTRY.
	@tools/make/push-sboms "$(VERSION)" "$(or $(REGISTRY),quay.io/echo-operator)"
	@tools/make/push-chart "dist/echo-operator-$(VERSION).tgz" "$(or $(REGISTRY),quay.io/echo-operator)"
push-release-images:
	@ls dist/images/*/index.json >/dev/null 2>&1 || { echo "push-release: no images found: run 'make release' first"; exit 1; }
	@crane=$(call tool,image)/crane; for layout in dist/images/*; do \
		"$$crane" push "$$layout" "$(or $(REGISTRY),quay.io/echo-operator)/$$(basename "$$layout"):v$(VERSION)"; done

.PHONY: sign-release
sign-release: ## Sign by cosign what `make push-release` pushed, and the checksums of the files, with COSIGN_KEY or as the release workflow. 5 minutes to build cosign.
	@tools/release/sign "$(VERSION)" "$(or $(REGISTRY),quay.io/echo-operator)"

.PHONY: publish-catalog
publish-catalog: ## Tag the catalog of `make push-release` as `latest`, which users' catalogs follow.
	@$(call tool,image)/crane push dist/images/echo-operator-catalog $(or $(REGISTRY),quay.io/echo-operator)/echo-operator-catalog:latest

.PHONY: test-release
test-release: ## Make the release of this tree twice, for all architectures or PLATFORMS, and compare. Does not require root.
	@tools/release/check

.PHONY: test-signatures
test-signatures: ## Make, push and sign a release for this machine, and verify it by the documented commands, before and after it is tampered with.
	@tools/release/rehearse $(TESTFLAGS)

.PHONY: archives
archives: ## Write archives of kubectl-echo, pathcheck and the echo server for PLATFORMS, their checksums, and a manifest for krew, to dist/archives.
	@for platform in $(subst $(comma), ,$(PLATFORMS)); do GOOS=$${platform%/*} GOARCH=$${platform#*/} \
		$(GO_BUILD) -o bin/$${platform/\//-}/ ./cmd/kubectl-echo ./cmd/pathcheck ./cmd/echo-server; done
	@tools/make/archives "$(VERSION)" $(subst $(comma), ,$(PLATFORMS))
