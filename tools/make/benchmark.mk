##@ Benchmarks of the operator

# The benchmark of the operator as it ships.
benchmark_operator = $(assets) bin/benchmark/operator -manager=bin/linux-$(GOARCH)/manager

.PHONY: benchmark-programs
benchmark-programs: override PLATFORMS := linux/$(GOARCH)
benchmark-programs: build kubectl-echo
	@$(GO_BUILD) -o bin/benchmark/ ./tests/benchmark/operator

.PHONY: benchmark benchmark-scale
benchmark: benchmark-programs ## Compare the operator with a writer of the same requests, with 1,000 Echoes, and restart the operator with 2,000. 10 minutes.
	@$(benchmark_operator)
benchmark-scale: benchmark-programs ## Restart the operator with 10,000 Echoes. 10 minutes.
	@$(benchmark_operator) -only=restart -large=10000 -rounds=1
