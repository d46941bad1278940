# OLM. Its jobs that unpack bundles run cp. Build it in the root of the project.
FROM scratch
COPY bin/busybox/ /bin/
COPY bin/olm/ /bin/
USER 1001
ENV PATH=/bin
ENTRYPOINT ["/bin/olm"]
