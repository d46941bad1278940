##@ Benchmarks of the operator

# The benchmark of the operator as it ships.
benchmark_operator = $(assets) bin/benchmark/operator -manager=bin/linux-$(GOARCH)/manager

.PHONY: benchmark-programs
benchmark-programs: override PLATFORMS := linux/$(GOARCH)
benchmark-programs: build kubectl-echo
	@$(GO_BUILD) -o bin/benchmark/ ./tests/benchmark/operator ./tests/benchmark/operator/bare

.PHONY: benchmark benchmark-scale
benchmark: benchmark-programs ## Compare the operator with a writer of the same requests, with 1,000 Echoes, and restart the operator with 2,000. 25 minutes.
	@$(benchmark_operator)
benchmark-scale: benchmark-programs ## Restart the operator with 10,000 Echoes, and measure it with 20,000 simulated pods. Hours.
	@$(benchmark_operator) -only=restart,cluster -large=10000 -cluster=10000 -kubernetes=$(call tool,kubernetes)

.PHONY: benchmark-timeline
benchmark-timeline: ## Measure how the time until an Echo is ready is spent, on the test cluster. 15 minutes. Requires root, or KUBECONFIG and REGISTRY.
	@tools/make/e2e-possible
	@$(MAKE) --no-print-directory cluster-up images
	@KUBECONFIG=$$($(CLUSTER) kubeconfig) tools/make/deploy
	@$(GO_BUILD) -o bin/benchmark/ ./tests/benchmark/timeline
	@KUBECONFIG=$$($(CLUSTER) kubeconfig) bin/benchmark/timeline
