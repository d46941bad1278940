# Prometheus, for tests. The build context is the root of the project.

FROM --platform=$BUILDPLATFORM golang:1.27.3 AS build
WORKDIR /src
COPY tools/prometheus .
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -gcflags=all=-dwarf=false -ldflags "-s -w" -o /out/prometheus -tags "remove_all_sd enable_kubernetes_sd" github.com/prometheus/prometheus/cmd/prometheus

FROM scratch
COPY --from=build /out/prometheus /bin/prometheus
USER 65532:65532
ENTRYPOINT ["/bin/prometheus"]
