# The image of the action: one static binary, no shell, no package manager.
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath \
      -ldflags="-s -w -X github.com/oloproof/oloproof-go/internal/cli.version=${VERSION}" \
      -o /out/oloproof . \
 && mkdir -m 1777 /out/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/tmp /tmp
COPY --from=build /out/oloproof /oloproof
# No USER: the runner mounts a workspace that belongs to another user, and a
# container action must be able to write there; what it writes is given to the
# workspace's owner.
ENTRYPOINT ["/oloproof"]
CMD ["ci"]
