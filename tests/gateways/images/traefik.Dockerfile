# Traefik, for tests. The build context is the root of the project.

FROM --platform=$BUILDPLATFORM golang:1.27.3 AS build
WORKDIR /src
COPY tools/traefik .
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -gcflags=all=-dwarf=false -ldflags "-s -w" -o /out/traefik github.com/traefik/traefik/v3/cmd/traefik

FROM scratch
COPY --from=build /out/traefik /bin/traefik
USER 65532:65532
ENTRYPOINT ["/bin/traefik"]
