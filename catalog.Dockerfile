# The catalog, which serves itself: opm, the catalog and its cache, made by the same opm. Build it from the project's root
# after `make opm-files catalog-cache`.
FROM scratch
ARG TARGETARCH=amd64
LABEL operators.operatorframework.io.index.configs.v1=/configs
COPY bin/linux-${TARGETARCH}/opm/ /
COPY catalog /configs
COPY --chown=1001:0 bin/catalog-cache /tmp/cache
USER 1001
ENV PATH=/bin
ENTRYPOINT ["/bin/opm"]
CMD ["serve", "/configs", "--cache-dir=/tmp/cache", "--cache-enforce-integrity"]
