# OLM, under its ordinary name. Its unpacking jobs call cp, which busybox is when it is named so. Build it from the project's root.
FROM scratch
COPY bin/olm/ /bin/
USER 1001
ENV PATH=/bin
ENTRYPOINT ["/bin/olm"]
