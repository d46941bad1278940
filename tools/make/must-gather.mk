##@ must-gather

.PHONY: must-gather
must-gather: ## Collect diagnostic data from the current cluster into must-gather-TIME/. ARGS are passed on.
	@$(GO_BUILD) -o bin/gather ./cmd/must-gather
	@bin/gather $(ARGS)

.PHONY: must-gather-files
must-gather-files:
	@$(call compile,gather,./cmd/must-gather)
	@tools/make/must-gather-files $(architectures)

.PHONY: must-gather-image
must-gather-image: must-gather-files ## Build the image for `oc adm must-gather --image` and push it, as `make images` does. Requires Debian.
	@tools/make/push-image echo-operator-must-gather

.PHONY: update-must-gather
update-must-gather: ## Pin the newest packages of Debian 12 for that image. Requires Debian.
	@pins=$$(tools/make/must-gather-pins); echo "$$pins" >cmd/must-gather/packages

.PHONY: test-must-gather-image
test-must-gather-image: override PLATFORMS := linux/$(GOARCH)
test-must-gather-image: must-gather-files ## Check the contents of that image, and run in it what oc runs. Requires Debian, and root.
	@$(build_image) echo-operator-must-gather archive bin/images/must-gather.tar $(IMAGE_TAG_BASE)-must-gather:v$(VERSION) >/dev/null
	@cd tests/packaging && MUST_GATHER_IMAGE="$(CURDIR)/bin/images/must-gather.tar" go test -trimpath -count=1 -v -run MustGatherImage $(TESTFLAGS) ./...

.PHONY: e2e-must-gather
e2e-must-gather: ## Run that image on the test cluster as oc does. Requires Debian, and root, or KUBECONFIG and REGISTRY.
	@tools/make/e2e-possible
	@$(MAKE) --no-print-directory cluster-up e2e-images must-gather-image
	@KUBECONFIG=$$($(CLUSTER) kubeconfig) tools/make/deploy
	@tools/make/suite apiserver ./tests/e2e -ginkgo.label-filter=must-gather $(TESTFLAGS)
