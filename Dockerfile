# Builds the images of all programs. The build argument PROGRAM selects the program in cmd/PROGRAM; the default is the operator. The build
# context is the root of the project. tools/make/image builds the same images without a container engine.
ARG PROGRAM
ARG VERSION=0.1.0
ARG CREATED=2026-11-21T00:00:00Z

FROM --platform=$BUILDPLATFORM golang:1.27.3 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG PROGRAM
ARG VERSION
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -gcflags=all=-dwarf=false -ldflags "-s -w -X main.version=v${VERSION}" -o /out/program "./${PROGRAM:+cmd/$PROGRAM}" && \
    go run -trimpath ./tools/notices . /out/program >/out/NOTICES

FROM build AS shell
RUN tools/make/must-gather-files "$TARGETARCH" && mv "bin/linux-$TARGETARCH/must-gather" /out/must-gather

FROM scratch AS base
ARG VERSION
ARG CREATED
LABEL vendor="The Echo Operator authors" \
      maintainer="The Echo Operator authors" \
      version="v${VERSION}" \
      release="1" \
      org.opencontainers.image.source="https://github.com/echo-operator/echo-operator" \
      org.opencontainers.image.version="v${VERSION}" \
      org.opencontainers.image.created="${CREATED}"
COPY LICENSE /licenses/LICENSE
COPY --from=build /out/NOTICES /licenses/NOTICES
USER 65532:65532

FROM base AS operator
LABEL name="echo-operator" \
      summary="Runs HTTP echo servers on Kubernetes" \
      description="A Kubernetes operator that turns an Echo object into running HTTP echo servers." \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/program /manager
ENTRYPOINT ["/manager"]

FROM base AS echo-server
LABEL name="echo-server" \
      summary="Responds to HTTP requests with the request" \
      description="The HTTP echo server that the Echo Operator runs." \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/program /echo-server
EXPOSE 8080 9090
ENTRYPOINT ["/echo-server"]

FROM base AS pathcheck
LABEL name="echo-operator-pathcheck" \
      summary="Finds out what the way to an Echo does to requests" \
      description="Sends requests to a URL that leads to an Echo, and compares what arrived with what was sent." \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/program /pathcheck
ENTRYPOINT ["/pathcheck"]

# With the shell and the tools that `oc adm must-gather` runs.
FROM base AS must-gather
LABEL name="echo-operator-must-gather" \
      summary="Collects what helps to find out what is wrong with the Echo Operator" \
      description="The image for oc adm must-gather --image. Secrets, values of environment variables and bodies are left out." \
      org.opencontainers.image.licenses="Apache-2.0 AND GPL-2.0-only AND GPL-3.0-or-later AND LGPL-2.1-or-later"
COPY --from=shell /out/must-gather/ /
COPY --from=build /out/program /usr/bin/gather
COPY cmd/must-gather/setsid /usr/bin/setsid
ENV PATH=/usr/bin:/bin
ENTRYPOINT ["/usr/bin/gather"]

FROM base AS scorecard
LABEL name="echo-operator-scorecard" \
      summary="Tests the Echo Operator" \
      description="Tests of operator-sdk scorecard for the permissions, the examples and the pods of the Echo Operator." \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/program /bin/echo-scorecard
ENV PATH=/bin
ENTRYPOINT ["/bin/echo-scorecard"]

FROM ${PROGRAM:-operator}
