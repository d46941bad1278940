##@ Benchmarks of the operator

# benchmark_operator FLAGS: run the benchmark on the operator as it ships.
benchmark_operator = $(assets) bin/benchmark/operator -manager=bin/linux-$(GOARCH)/manager -json=bin/benchmark/operator.json $(1)

.PHONY: benchmark-programs
benchmark-programs: PLATFORMS := linux/$(GOARCH)
benchmark-programs: build
	@$(GO_BUILD) -o bin/benchmark/ ./tests/benchmark/operator ./tests/benchmark/operator/raw ./tests/benchmark/operator/naive

.PHONY: benchmark
benchmark: benchmark-programs ## Compare the operator with a writer of the same requests, and with a naive operator. Takes 25 minutes.
	@$(call benchmark_operator)
