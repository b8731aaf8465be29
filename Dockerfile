# The image of the action: one static binary, no shell, no package manager.
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY . .
# TARGETARCH is set by buildx; without it Go builds for the machine at hand.
ARG TARGETARCH=
ARG VERSION=
# Only the modules that the binary needs are downloaded.
RUN mkdir -p /out/etc/ssl/certs \
 && mkdir -m 1777 /out/tmp \
 && cp /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/ \
 && CGO_ENABLED=0 GOARCH=${TARGETARCH} go build -trimpath \
      -ldflags="-s -w -X github.com/oloproof/oloproof-go/internal/cli.version=${VERSION}" \
      -o /out/oloproof .

FROM scratch
COPY --from=build /out /
# No USER: the runner mounts a workspace that belongs to another user, and a
# container action must be able to write there; what it writes is given to the
# workspace's owner.
ENTRYPOINT ["/oloproof"]
CMD ["ci"]
