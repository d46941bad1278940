# The catalog, which serves itself: opm, the catalog and a cache that the same opm made.
ARG VERSION=0.1.0
ARG CREATED=2026-11-21T00:00:00Z

FROM --platform=$BUILDPLATFORM golang:1.27.3 AS build
WORKDIR /src
COPY tools tools
COPY catalog catalog
ARG TARGETARCH
RUN tools/make/opm-files "$TARGETARCH" && tools/make/catalog-cache "$TARGETARCH" && mv "bin/linux-$TARGETARCH" /out

FROM scratch
ARG VERSION
ARG CREATED
LABEL operators.operatorframework.io.index.configs.v1=/configs \
      org.opencontainers.image.source="https://github.com/echo-operator/echo-operator" \
      org.opencontainers.image.version="v${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.created="${CREATED}"
COPY --from=build /out/opm/ /
COPY LICENSE /licenses/LICENSE
COPY catalog /configs
COPY --from=build --chown=1001:0 /out/catalog-cache /tmp/cache
USER 1001
ENV PATH=/bin
ENTRYPOINT ["/bin/opm"]
CMD ["serve", "/configs", "--cache-dir=/tmp/cache", "--cache-enforce-integrity"]
