# The scorecard tests of Operator SDK. Build it in the root of the project.
FROM scratch
COPY bin/scorecard/ /bin/
USER 1001
ENV PATH=/bin
ENTRYPOINT ["/bin/scorecard-test"]
