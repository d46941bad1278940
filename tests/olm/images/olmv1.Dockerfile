# OLM v1, both of its programs in one image. Build it from the project's root.
FROM scratch
COPY bin/olmv1/ /
USER 65532
WORKDIR /
