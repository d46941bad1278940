# The SDK's own scorecard tests, under their ordinary name. Build it from the project's root.
FROM scratch
COPY bin/scorecard/ /bin/
USER 1001
ENV PATH=/bin
ENTRYPOINT ["/bin/scorecard-test"]
