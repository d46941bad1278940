# The catalog, which serves itself: opm, the catalog and a cache that the same opm made.

FROM --platform=$BUILDPLATFORM golang:1.27.3 AS build
WORKDIR /src
COPY tools tools
COPY catalog catalog
ARG TARGETARCH
RUN tools/make/opm-files "$TARGETARCH" && tools/make/catalog-cache "$TARGETARCH" && mv "bin/linux-$TARGETARCH" /out

FROM scratch
LABEL operators.operatorframework.io.index.configs.v1=/configs
COPY --from=build /out/opm/ /
COPY catalog /configs
COPY --from=build --chown=1001:0 /out/catalog-cache /tmp/cache
USER 1001
ENV PATH=/bin
ENTRYPOINT ["/bin/opm"]
CMD ["serve", "/configs", "--cache-dir=/tmp/cache", "--cache-enforce-integrity"]
