##@ Echo server

.PHONY: fuzz
fuzz: ## Send random requests to the echo server's parsers and handler, each for FUZZTIME.
	@tools/make/fuzz ./echoserver/... $(FUZZTIME)

.PHONY: flood
flood: ## Flood the echo server with requests that could exhaust its memory. 3 minutes.
	@FLOODS=all go test -trimpath -count=1 -timeout=30m -parallel=6 -run=TestRun_survivesFloods -v $(TESTFLAGS) ./echoserver/server | $(summary)

.PHONY: test-clients
test-clients: export PATH := $(PATH):/usr/sbin
test-clients: ## Test the echo server with headless Chromium, behind nginx and HAProxy, with grpc-go and the Gateway API's clients. Screenshots go to CACHE.
	@tools/make/require chromium chromium fonts-dejavu-core
	@tools/make/require nginx nginx
	@tools/make/require curl curl
	@tools/make/require haproxy haproxy
	@mkdir -p "$(CACHE)/screenshots"
	@cd tests/clients && SCREENSHOTS="$(CACHE)/screenshots" go test -trimpath -count=1 $(TESTFLAGS) ./...

.PHONY: test-gateways
test-gateways: export PATH := $(PATH):/usr/sbin
test-gateways: ## Examine nginx, HAProxy, Apache httpd, Varnish, Squid, and Caddy with pathcheck, and compare docs/reference/gateways.md. UPDATE=1 writes its tables.
	@tools/make/require nginx nginx
	@tools/make/require haproxy haproxy
	@tools/make/require apache2 apache2-bin
	@tools/make/require varnishd varnish
	@tools/make/require squid squid
	@tools/make/require caddy caddy
	@GATEWAYS=all go test -trimpath -count=1 -parallel=6 -timeout=5m $(TESTFLAGS) ./tests/gateways

.PHONY: test-traefik
test-traefik: ## The same for Traefik, which takes 10 minutes to build.
	@traefik=$(call tool,traefik)/traefik; \
	GATEWAYS=traefik TRAEFIK="$$traefik" go test -trimpath -count=1 -parallel=6 -timeout=5m $(TESTFLAGS) ./tests/gateways

.PHONY: test-envoy
test-envoy: ## The same for Envoy, with its defaults and with the settings of Envoy Gateway and Istio.
	@tools/make/require pip3 python3-pip
	@envoy=$$(tools/make/envoy); \
	GATEWAYS=envoy ENVOY="$$envoy" go test -trimpath -count=1 -parallel=3 -timeout=2h $(TESTFLAGS) ./tests/gateways

.PHONY: test-image
test-image: PLATFORMS := $(release_platforms)
test-image: ## Check the sizes and settings of the echo server and pathcheck images, and run the echo server's as an unknown user. Requires root.
	@$(call compile,echo-server,./cmd/echo-server)
	@$(call compile,pathcheck,./cmd/pathcheck)
	@tools/make/test-image

.PHONY: benchmark-echoserver
benchmark-echoserver: ## Measure the echo server and similar servers, relative to a minimal server in Go. Requires two cores.
	@$(GO_BUILD) -o bin/benchmark/ ./cmd/echo-server ./tests/benchmark/echoserver/hello
	@$(GO_BUILD) -o bin/benchmark/load ./tests/benchmark/echoserver
	@tools/make/benchmark-echoserver
