# The operator: the binary that `make build` made, and nothing else.
FROM scratch
ARG TARGETARCH=amd64
ARG VERSION=0.0.0
LABEL name="echo-operator" \
      vendor="The Echo Operator authors" \
      maintainer="The Echo Operator authors" \
      version="${VERSION}" \
      release="1" \
      summary="Runs HTTP echo servers on Kubernetes" \
      description="A Kubernetes operator that turns an Echo object into running HTTP echo servers."
COPY LICENSE /licenses/LICENSE
COPY bin/linux-${TARGETARCH}/manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
