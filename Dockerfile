# The operator. tools/make/image makes the same image without a container engine.
ARG VERSION=0.1.0

FROM --platform=$BUILDPLATFORM golang:1.27.3 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -gcflags=all=-dwarf=false -ldflags "-s -w -X main.version=v${VERSION}" -o /out/manager .

FROM scratch
ARG VERSION
LABEL name="echo-operator" \
      vendor="The Echo Operator authors" \
      maintainer="The Echo Operator authors" \
      version="v${VERSION}" \
      release="1" \
      summary="Runs HTTP echo servers on Kubernetes" \
      description="A Kubernetes operator that turns an Echo object into running HTTP echo servers."
COPY LICENSE /licenses/LICENSE
COPY --from=build /out/manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
