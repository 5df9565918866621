#!/usr/bin/env bash
# Builds the release of the tag that is checked out, into dist/, and publishes nothing. dist/checksums.txt has to be the
# one that was published. Needs Go, git and goreleaser (GORELEASER, or in PATH, or where go install puts it). SKIP names
# more of goreleaser's steps to leave out.
set -euo pipefail
cd "$(dirname "$0")/.."
goreleaser=${GORELEASER:-$(command -v goreleaser || echo "$(go env GOPATH)/bin/goreleaser")}
"$goreleaser" release --config deploy/goreleaser.yaml --clean "--skip=publish,sign,docker,announce${SKIP:+,$SKIP}"
