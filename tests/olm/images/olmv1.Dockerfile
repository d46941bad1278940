# OLM v1: both programs in one image. Build it in the root of the project.
FROM scratch
COPY bin/olmv1/ /
USER 65532
WORKDIR /
