# What unpacks the bundle for scorecard's tests: a shell and its tools. Build it from the project's root.
FROM scratch
COPY bin/scorecard/untar/ /
USER 1001
ENV PATH=/bin
