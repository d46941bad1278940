# A shell and its tools, which unpack bundles for scorecard and operator-sdk. Build it in the root of the project.
FROM scratch
COPY bin/busybox/ /bin/
USER 1001
ENV PATH=/bin
