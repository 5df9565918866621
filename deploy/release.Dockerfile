# The images of a release, of the binary that goreleaser has built. deploy/Dockerfile builds from source.
#
#   ghcr.io/codemode-project/codemode:1.2.3        codemode alone: servers over HTTP, and those in it
#   ghcr.io/codemode-project/codemode:1.2.3-node   with Node and npm, in which most servers run
#
# Without arguments it serves over HTTP, as deploy/Dockerfile does. "docker run -i ... IMAGE serve" serves one client
# over standard input and output. Mount your configuration over /etc/codemode/codemode.json, which is empty: over HTTP
# it needs http.tokens.
FROM golang:1.26 AS base
RUN mkdir -p /state/home /state/cache && echo '{}' >/codemode.json

FROM scratch AS alone
ARG TARGETPLATFORM
COPY --from=base /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=base /codemode.json /etc/codemode/codemode.json
COPY --from=base --chown=65532:65532 /state /var/lib/codemode
COPY LICENSE THIRD_PARTY_LICENSES /usr/share/doc/codemode/
COPY $TARGETPLATFORM/codemode /usr/local/bin/codemode
USER 65532:65532
ENV PATH=/usr/local/bin:/usr/bin:/bin CODEMODE_CONFIG=/etc/codemode/codemode.json CODEMODE_STATE=/var/lib/codemode \
    HOME=/var/lib/codemode/home XDG_CACHE_HOME=/var/lib/codemode/cache TMPDIR=/var/lib/codemode/cache
VOLUME /var/lib/codemode
WORKDIR /var/lib/codemode/home
EXPOSE 8808
ENTRYPOINT ["codemode"]
CMD ["serve", "--http", "0.0.0.0:8808", "--project", "none", "--confine"]

FROM node:22-slim AS node
ARG TARGETPLATFORM
COPY --from=base /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=base /codemode.json /etc/codemode/codemode.json
COPY --from=base --chown=65532:65532 /state /var/lib/codemode
COPY LICENSE THIRD_PARTY_LICENSES /usr/share/doc/codemode/
COPY $TARGETPLATFORM/codemode /usr/local/bin/codemode
USER 65532:65532
ENV CODEMODE_CONFIG=/etc/codemode/codemode.json CODEMODE_STATE=/var/lib/codemode \
    HOME=/var/lib/codemode/home XDG_CACHE_HOME=/var/lib/codemode/cache
VOLUME /var/lib/codemode
WORKDIR /var/lib/codemode/home
EXPOSE 8808
ENTRYPOINT ["codemode"]
CMD ["serve", "--http", "0.0.0.0:8808", "--project", "none", "--confine"]
