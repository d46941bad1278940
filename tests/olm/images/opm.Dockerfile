# opm, under its ordinary name, with the probe that OLM gives catalogs and the shell that operator-sdk expects. Build it from the
# project's root.
FROM scratch
ARG TARGETARCH=amd64
COPY bin/busybox/ /bin/
COPY bin/linux-${TARGETARCH}/opm/ /
USER 1001
ENV PATH=/bin
ENTRYPOINT ["/bin/opm"]
