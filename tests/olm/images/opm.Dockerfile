# opm, with the probe that OLM sets for catalogs and the shell that operator-sdk requires. Build it in the root of the project.
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
