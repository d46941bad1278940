##@ Operator Lifecycle Manager

.PHONY: bundle
bundle: manifests ## Generate the OLM bundle in bundle/, with IMG, ECHO_SERVER_IMG, and PATHCHECK_IMG if set.
	@CHANNELS="$(CHANNELS)" tools/make/bundle $(given_images)

# The bundle that the committed catalog names.
bundle_image = quay.io/echo-operator/echo-operator-bundle:v$(VERSION)

.PHONY: catalog
catalog: bundle ## Generate the file-based catalog in catalog/, with the channels in config/catalog/channels.yaml and BUNDLE_IMG.
	@tools/make/catalog $(if $(call given,BUNDLE_IMG)$(call given,IMAGE_TAG_BASE),$(BUNDLE_IMG),$(bundle_image))

.PHONY: opm-files
opm-files: ## Build opm and the health probe for the catalog image.
	@tools/make/opm-files $(architectures)

.PHONY: catalog-cache
catalog-cache: ## Create the catalog's cache for its image.
	@tools/make/catalog-cache $(architectures)

.PHONY: bundle-build
bundle-build: ## Build BUNDLE_IMG from bundle/ as an archive for `docker load` in bin/images.
	@$(build_image) echo-operator-bundle archive bin/images/echo-operator-bundle.tar $(BUNDLE_IMG)

.PHONY: bundle-push
bundle-push: ## Build BUNDLE_IMG for PLATFORMS and push it.
	@$(build_image) echo-operator-bundle push $(BUNDLE_IMG)

.PHONY: catalog-build
catalog-build: opm-files catalog-cache ## Build CATALOG_IMG from catalog/ as an archive for `docker load` in bin/images.
	@$(build_image) echo-operator-catalog archive bin/images/echo-operator-catalog.tar $(CATALOG_IMG)

.PHONY: catalog-push
catalog-push: opm-files catalog-cache ## Build CATALOG_IMG for PLATFORMS and push it.
	@$(build_image) echo-operator-catalog push $(CATALOG_IMG)

.PHONY: busybox
busybox: ## Copy busybox for the images of the OLM tests.
	@tools/make/busybox

.PHONY: olm-images
olm-images: prober-image opm-files busybox ## Build and push OLM's images.
	@tools/make/olm-images

.PHONY: operator-sdk-images
operator-sdk-images: busybox ## Build and push operator-sdk's images.
	@$(call compile,hello,./tests/programs/hello)
	@tools/make/operator-sdk-images

# The suite installs throwaway releases and upgrades between them. `make -n` runs lines that contain $(MAKE), so these are separate.
.PHONY: e2e-olm e2e-olm-all e2e-release scorecard
e2e-olm: releases := good good
e2e-olm: filter := !all && !release
e2e-olm: ## Install, configure, upgrade and remove the operator with a real OLM on the test cluster. Needs root.
e2e-olm-all: releases := good good broken good
e2e-olm-all: filter := all
e2e-olm-all: ## The other OLM tests: approval, install modes, failures, wrong order, OLM v1. Half an hour. Needs root.
e2e-release: releases := good good
e2e-release: filter := release
e2e-release: ## Verify a signed release, install, upgrade and uninstall it by OLM, OLM v1, Helm and install.yaml. 20 minutes. Requires root.
scorecard: releases := good
scorecard: filter := scorecard
scorecard: ## Run the scorecard tests for the bundle and for the operator that OLM installed. Requires root.
e2e-olm e2e-olm-all e2e-release scorecard:
	@tools/make/e2e-possible own
	@$(MAKE) --no-print-directory cluster-up olm-images operator-sdk-images
	@tools/make/e2e-olm '$(filter)' $(releases) -- $(TESTFLAGS)
