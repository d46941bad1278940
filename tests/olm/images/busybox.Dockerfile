# A shell and its tools: what unpacks bundles for scorecard and for operator-sdk. Build it from the project's root.
FROM scratch
COPY bin/busybox/ /bin/
USER 1001
ENV PATH=/bin
