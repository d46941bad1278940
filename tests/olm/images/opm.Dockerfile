# opm, under its ordinary name, with the probe that OLM gives catalogs and the shell that operator-sdk expects. Build it from the
# project's root.
FROM scratch
ARG TARGETARCH
# operator-sdk adds a bundle to the catalog that it finds here, which is empty.
LABEL operators.operatorframework.io.index.configs.v1=/configs
WORKDIR /configs
WORKDIR /
COPY bin/busybox/ /bin/
COPY bin/linux-${TARGETARCH}/opm/ /
USER 1001
ENV PATH=/bin
ENTRYPOINT ["/bin/opm"]
