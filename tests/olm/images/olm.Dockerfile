# OLM, under its ordinary name. Its unpacking jobs call cp. Build it from the project's root.
FROM scratch
COPY bin/busybox/ /bin/
COPY bin/olm/ /bin/
USER 1001
ENV PATH=/bin
ENTRYPOINT ["/bin/olm"]
