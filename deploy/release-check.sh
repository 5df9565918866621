#!/usr/bin/env bash
# make release-check: builds a release of this commit, publishes nothing, and tries what a release promises.
#
#   deploy/release-check.sh            everything
#   deploy/release-check.sh STEP...    some steps, of a release that the step build has made:
#     build    the release of a commit of the year 2001, and its bills of materials
#     again    a second time in another folder, time zone and umask: the same bytes; binaries with an empty cache too
#     guest    quickjs.wasm from its sources: the same bytes
#     archive deb rpm apk npm desktop image    installs in an empty root, codemode doctor, a program, and no residue
#     clients  Claude Code, Gemini, and the schema of the MCP registry take what is for them
#
# Needs: Debian, root, Go, Node, git; it installs debootstrap, rpm and busybox-static. SYSTEMS names the systems to
# build for, and FRESH those whose binaries the step again builds with an empty cache: all by default. On a slow machine
# SYSTEMS=linux/amd64 FRESH=linux/amd64 tries everything for one.
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD
work=${WORK:-$source/.build/release-check}
all="linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64"
systems=${SYSTEMS:-$all}
case $systems in *windows/amd64*) ;; *) export SKIP=winget,scoop,homebrew ;; esac
goreleaser=v2.15.1 version=0.0.1-check.1
dist=$work/one/dist channels=$work/one/.build/channels
export GORELEASER=${GORELEASER:-$work/bin/goreleaser}

ok() { echo "ok  $*"; }
fail() {
  echo "release-check: $*" >&2
  exit 1
}
need() {
  local missing=()
  for p in "$@"; do dpkg -s "$p" >/dev/null 2>&1 || missing+=("$p"); done
  if [ ${#missing[@]} -gt 0 ]; then
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  fi
}

build() {
  if [ ! -x "$GORELEASER" ]; then
    mkdir -p "$work/bin"
    (cd "$work" && GOBIN=$work/bin go install "github.com/goreleaser/goreleaser/v2@$goreleaser")
  fi
  rm -rf "$work/one"
  git clone --quiet "$source" "$work/one"
  cd "$work/one"
  export GIT_AUTHOR_DATE=2001-02-03T04:05:06Z GIT_COMMITTER_DATE=2001-02-03T04:05:06Z
  [ "$systems" = "$all" ] ||
    sed -i "s|^    goos: .*|    targets: [${systems// /, }]|; /^    targets/s|/|_|g; /^    goarch: /d" deploy/goreleaser.yaml
  git -c user.name=check -c user.email=check@example.com commit --quiet --all --allow-empty -m "release: a check"
  git tag "v$version"
  (umask 022 && TZ=Pacific/Kiritimati deploy/release-rebuild.sh)
  cp .build/channels/*.* dist
  (cd dist && sha256sum --check --quiet checksums.txt)
  ok "build: $(wc -l <dist/checksums.txt) files, and their sums are right"

  # Nothing has the time of the build: every file of every archive is of the commit, or of npm's year.
  for f in dist/*.tar.gz .build/channels/*.tgz; do
    tar --utc --list --verbose --full-time --file "$f" | awk '{print $4}' |
      grep -Ev '^(2001-02-03|1985-10-26)$' && fail "$f has files of another day"
  done
  dpkg-deb --contents "dist/codemode_${version}_linux_amd64.deb" | awk '{print $4}' |
    grep -v '^2001-02-03$' && fail "the deb has files of another day"
  ok "build: all files are of the day of the commit"

  for binary in dist/codemode_*/codemode*; do
    system=$(go version -m "$binary" | awk '$1=="build" && $2~/^GOOS=/ {sub("GOOS=","",$2); o=$2}
      $1=="build" && $2~/^GOARCH=/ {sub("GOARCH=","",$2); a=$2} END {print o "_" a}')
    go version -m "$binary" | awk '$1=="dep" {print $2 "@" $3}' | while read -r module; do
      for list in spdx cdx; do
        grep -qF "\"pkg:golang/$module\"" ".build/channels/codemode_${version}_$system.$list.json" ||
          fail "the $list list for $system lacks $module"
      done
    done
    [ "$(go version -m "$binary" | awk '$1=="mod" {print $3}')" = "v$version" ] || fail "$binary does not say v$version"
  done
  ok "build: the bills of materials name each module of each binary, and the binaries say v$version"
  if [ -z "${SKIP:-}" ]; then
    grep -hE '^ *(version|"version":|PackageVersion:)' dist/homebrew/Casks/*.rb dist/scoop/*.json \
      dist/winget/*/*/*/*/*.yaml | grep -v "$version" && fail "a file for Homebrew, Scoop or winget has another version"
    ok "build: Homebrew, Scoop and winget have the version of the tag"
  fi
  cd "$source"
}

again() {
  local two=$work/two/in/another/folder
  rm -rf "$work/two"
  git clone --quiet "$work/one" "$two"
  cd "$two"
  find . -path ./.git -prune -o -type f -exec touch -d 1999-12-31 {} +
  (umask 077 && TZ=Pacific/Pago_Pago deploy/release-rebuild.sh)
  diff "$dist/checksums.txt" dist/checksums.txt || fail "the second build has other bytes"
  [ -n "${SKIP:-}" ] || for folder in homebrew scoop; do diff -r "$dist/$folder" "dist/$folder"; done
  ok "again: $(wc -l <dist/checksums.txt) files have the same bytes"
  for system in ${FRESH:-$systems}; do
    GOCACHE=$work/cache GOOS=${system%/*} GOARCH=${system#*/} CGO_ENABLED=0 \
      go build -trimpath -buildvcs=true -ldflags='-s -w' -o "$work/fresh" ./cmd/codemode
    cmp "$work/fresh" "$(ls "$dist/codemode_${system%/*}_${system#*/}"*/codemode*)" || fail "$system: other bytes"
    ok "again: the binary for $system, with an empty cache, has the same bytes"
  done
  cd "$source"
}

guest() {
  guest/build.sh
  ok "guest: quickjs.wasm has the same bytes"
}

# within ROOT COMMAND...: runs a command in a root, with /proc and an environment of its own.
within() {
  local root=$1
  shift
  mkdir -p "$root/proc" "$root/dev" "$root/tmp" "$root/root"
  unshare --mount --pid --fork --propagation private sh -ec '
    mount -t proc proc "$1/proc"
    mount --bind /dev "$1/dev"
    root=$1; shift
    export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    exec env -i "PATH=$PATH" HOME=/root chroot "$root" "$@"' sh "$root" "$@"
}

# files ROOT: what is in a root, but what package managers note about themselves.
files() {
  (cd "$1" && find . \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./var/lib/dpkg -o -path ./var/log \
    -o -path ./var/cache -o -path ./var/lib/rpm \) -prune -o -print | sort)
}

# tried NAME ROOT BINARY: the doctor finds no failure, and a program runs. Then the state of this person goes, as
# docs/installing.md says.
tried() {
  within "$2" "$3" doctor --project none >"$work/doctor" || { cat "$work/doctor"; fail "$1: codemode doctor"; }
  tail -1 "$work/doctor" | grep -q '^0 failures' || fail "$1: $(tail -1 "$work/doctor")"
  local out
  out=$(within "$2" "$3" run --project none -e 'return (await codemode.time__now({})).date')
  [[ $out =~ ^\"?20[0-9-]+\"?$ ]] || fail "$1: the first program printed $out"
  [ "$(within "$2" "$3" version | head -1)" = "codemode v$version" ] || fail "$1: another version"
  rm -rf "$2"/root/.config "$2"/root/.local "$2"/root/.cache
  ok "$1: doctor: $(tail -1 "$work/doctor"); the first program gave $out"
}

archive() {
  local root=$work/root-archive
  rm -rf "$root" && mkdir -p "$root/usr/bin" "$root/root"
  files "$root" >"$work/before"
  tar -xzf "$dist/codemode_${version}_linux_amd64.tar.gz" -C "$root/usr/bin" codemode
  tried archive "$root" /usr/bin/codemode
  rm "$root/usr/bin/codemode"
  diff "$work/before" <(files "$root") || fail "archive: residue"
  ok "archive: an empty root without any other file, and no residue"
}

deb() {
  need debootstrap
  local root=$work/root-debian mirror
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
    sed -nE 's/^URIs: *([^ ]+\/debian\/?) *$/\1/p; s/^deb (\[[^]]*\] )?([^ ]+\/debian\/?) .*/\2/p' | head -1 || true)
  [ -n "$mirror" ] || fail "deb: no Debian mirror in this machine's apt sources"
  [ -e "$root/etc/debian_version" ] || debootstrap --variant=minbase bookworm "$root" "$mirror" >"$work/debootstrap.log"
  files "$root" >"$work/before"
  cp "$dist/codemode_${version}_linux_amd64.deb" "$root/tmp/codemode.deb"
  within "$root" dpkg --install /tmp/codemode.deb
  tried deb "$root" codemode
  grep -q 'ExecStart=/usr/bin/codemode ' "$root/usr/lib/systemd/system/codemode.service" ||
    fail "deb: there is no unit, or it starts another file"
  within "$root" dpkg --purge codemode
  diff "$work/before" <(files "$root") || fail "deb: residue"
  ok "deb: installed in an empty Debian, and no residue"
}

# busybox ROOT: an empty root with a shell.
busybox() {
  need busybox-static
  rm -rf "$1" && mkdir -p "$1/bin" "$1/etc" "$1/root" "$1/tmp" "$1/usr/bin" "$1/usr/lib" "$1/usr/share/doc" "$1/var/tmp"
  cp /bin/busybox "$1/bin/busybox"
  ln -s busybox "$1/bin/sh"
}

rpm() {
  need rpm
  local root=$work/root-rpm
  busybox "$root"
  command rpm --root "$root" --initdb
  files "$root" >"$work/before"
  command rpm --root "$root" --nodeps -i "$dist/codemode_${version}_linux_amd64.rpm"
  tried rpm "$root" /usr/bin/codemode
  [ -e "$root/usr/lib/systemd/system/codemode.service" ] || fail "rpm: there is no unit"
  command rpm --root "$root" --nodeps -e codemode
  # The folders above are of packages that an empty root does not have.
  rmdir "$root/usr/lib/systemd/system" "$root/usr/lib/systemd" 2>/dev/null || true
  diff "$work/before" <(files "$root") || fail "rpm: residue"
  ok "rpm: installed in an empty root, and no residue"
}

# Alpine's own apk is in no registry that this reaches: the package is unpacked as apk does, and removed by its list.
apk() {
  local root=$work/root-apk list
  busybox "$root"
  files "$root" >"$work/before"
  list=$(tar -xvzf "$dist/codemode_${version}_linux_amd64.apk" -C "$root" --warning=no-unknown-keyword --ignore-zeros)
  grep -q '^pkgname = codemode' "$root/.PKGINFO" || fail "apk: it has no .PKGINFO"
  tried apk "$root" /usr/bin/codemode
  [ ! -e "$root/usr/lib/systemd" ] || fail "apk: Alpine has no systemd"
  (cd "$root" && echo "$list" | grep -v '/$' | xargs rm && rmdir usr/share/doc/codemode etc/codemode)
  diff "$work/before" <(files "$root") || fail "apk: residue"
  ok "apk: unpacked in an empty root with busybox, and no residue"
}

npm() {
  CODEMODE_RELEASE=$channels go test -count=1 -v -run TestNpx ./internal/release | grep -v '^=== ' || fail "npm"
  ok "npm: npx, npm install and uninstall, from a registry on this machine"
}

# talk BINARY ARGUMENT...: the first messages of an MCP client.
talk() {
  local hello='{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"check","version":"1"}}'
  local call='{"name":"codemode_eval","arguments":{"code":"return 6 * 7"}}'
  {
    echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":'"$hello"'}'
    echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":'"$call"'}'
    sleep 10 # the answer comes before the input ends
  } | "$@" | (timeout 60 sed '/"id":2/q' || true)
}

tools() { # npm's tools of the clients
  if [ ! -d "$work/npm/node_modules/ajv" ]; then
    mkdir -p "$work/npm" && cd "$work/npm" && echo '{"private":true}' >package.json
    command npm install --no-audit --no-fund --loglevel=error @anthropic-ai/mcpb@2.1.2 @anthropic-ai/claude-code \
      @google/gemini-cli ajv@8 ajv-formats@3
    cd "$source"
  fi
}

desktop() {
  tools
  local dir=$work/desktop home=$work/desktop-home out
  rm -rf "$dir" "$home" && mkdir -p "$home/folder"
  "$work/npm/node_modules/.bin/mcpb" unpack "$channels/codemode_${version}_linux_amd64.mcpb" "$dir" >/dev/null
  "$work/npm/node_modules/.bin/mcpb" validate "$dir/manifest.json"
  chmod +x "$dir/server/codemode"
  out=$(cd "$work/npm" && node --input-type=module -e '
    import { getMcpConfigForManifest } from "@anthropic-ai/mcpb";
    import { readFileSync } from "node:fs";
    const manifest = JSON.parse(readFileSync(process.argv[1] + "/manifest.json", "utf8"));
    const config = await getMcpConfigForManifest({ manifest, extensionPath: process.argv[1], systemDirs: {},
      userConfig: { folder: process.argv[2] }, pathSeparator: "/" });
    console.log([config.command, ...config.args].join("\n"));
    console.error(JSON.stringify(config.env));' "$dir" "$home/folder" 2>"$work/env")
  mapfile -t words <<<"$out"
  mapfile -t env < <(node -e 'const env = JSON.parse(require("fs").readFileSync(0));
    for (const name in env) console.log(name + "=" + env[name])' <"$work/env")
  out=$(talk env -i "HOME=$home" PATH=/usr/bin "${env[@]}" "${words[@]}" 2>"$work/desktop.log") || true
  grep -q "\"version\":\"v$version\"" <<<"$out" || fail "desktop: $out $(cat "$work/desktop.log")"
  grep -q '"id":2.*42' <<<"$out" || fail "desktop: the program gave $out"
  ok "desktop: the bundle is valid, and its server runs a program as its manifest starts it"
}

clients() {
  tools
  local home=$work/clients-home plugin=$work/claude bin=$work/npm/node_modules/.bin
  rm -rf "$home" "$plugin" && mkdir -p "$home" "$plugin/market/.claude-plugin"
  tar -xzf "$channels/npm-claude-plugin-$version.tgz" -C "$plugin/market"
  HOME=$home "$bin/claude" plugin validate "$source"
  HOME=$home "$bin/claude" plugin validate "$plugin/market/package"
  sed 's|{ "source": "npm".*}|"./package"|' .claude-plugin/marketplace.json \
    >"$plugin/market/.claude-plugin/marketplace.json"
  HOME=$home "$bin/claude" plugin marketplace add "$plugin/market"
  HOME=$home "$bin/claude" plugin install codemode@codemode-project
  HOME=$home "$bin/claude" plugin list | grep -q "$version" || fail "clients: Claude Code has another version"
  HOME=$home "$bin/claude" plugin uninstall codemode@codemode-project
  HOME=$home "$bin/claude" plugin list | grep -q codemode@ && fail "clients: Claude Code still has the plugin"
  ok "clients: Claude Code installs the plugin and removes it"

  rm -rf "$work/gemini" && mkdir -p "$work/gemini"
  tar -xzf "$dist/linux.x64.codemode.tar.gz" -C "$work/gemini"
  gemini() { HOME=$home timeout 120 "$bin/gemini" extensions "$@" 2>&1; }
  gemini validate "$work/gemini" </dev/null
  echo y | gemini install "$work/gemini" --consent --skip-settings # it asks whether the folder is trusted
  gemini list </dev/null | grep -q "$version" || fail "clients: Gemini has another version"
  [ -x "$home/.gemini/extensions/codemode/codemode" ] || fail "clients: Gemini's extension has no binary"
  gemini uninstall codemode </dev/null
  [ ! -e "$home/.gemini/extensions/codemode" ] || fail "clients: Gemini still has the extension"
  ok "clients: Gemini installs the extension and removes it"

  for system in $all; do # server.json names the bundles of all systems
    cp -n "$channels/codemode_${version}_linux_amd64.mcpb" "$channels/codemode_${version}_${system/\//_}.mcpb"
  done
  (cd "$work/one" && go run ./internal/release registry -version "$version" -out .build/channels)
  local registry
  registry=$(cd "$work" && go mod download -json github.com/modelcontextprotocol/registry@v1.8.9 |
    sed -n 's/.*"Dir": "\(.*\)",/\1/p')
  (cd "$work/npm" && node -e '
    const Ajv = require("ajv"), read = (f) => JSON.parse(require("fs").readFileSync(f, "utf8"));
    const ajv = require("ajv-formats")(new Ajv({ strict: false }));
    const check = ajv.compile(read(process.argv[1]));
    if (!check(read(process.argv[2]))) { console.error(check.errors); process.exit(1); }' \
    "$registry/internal/validators/schemas/2025-12-11.json" "$channels/server.json") || fail "clients: server.json"
  grep -q "commit: \"$(git -C "$work/one" rev-parse HEAD)\"" "$channels/server.yaml" ||
    fail "clients: server.yaml has no commit"
  ok "clients: server.json is valid by the schema of the MCP registry"
}

# What the image without Node has, without an engine for containers: its files, its user and a read-only root.
image() {
  local root=$work/root-image
  rm -rf "$root"
  mkdir -p "$root/usr/local/bin" "$root/etc/ssl/certs" "$root/etc/codemode" "$root/var/lib/codemode/home" \
    "$root/var/lib/codemode/cache" "$root/proc" "$root/dev"
  cp "$dist"/codemode_linux_amd64*/codemode "$root/usr/local/bin/codemode"
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  echo '{}' >"$root/etc/codemode/codemode.json"
  chown -R 65532:65532 "$root/var/lib/codemode"
  cat >"$work/image.sh" <<'EOF'
set -e
root=$1
shift
mount --bind "$root" "$root"
mount --bind "$root/var/lib/codemode" "$root/var/lib/codemode"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount -o remount,bind,ro "$root"
exec env -i PATH=/usr/local/bin:/usr/bin:/bin \
  CODEMODE_CONFIG=/etc/codemode/codemode.json CODEMODE_STATE=/var/lib/codemode \
  HOME=/var/lib/codemode/home XDG_CACHE_HOME=/var/lib/codemode/cache TMPDIR=/var/lib/codemode/cache \
  /usr/sbin/chroot --userspec=65532:65532 --groups= "$root" "$@"
EOF
  in_image() { unshare --mount --pid --fork --propagation private sh "$work/image.sh" "$root" "$@"; }
  in_image codemode doctor --project none >"$work/doctor" || { cat "$work/doctor"; fail "image: codemode doctor"; }
  out=$(talk in_image codemode serve --project none 2>/dev/null) || true
  grep -q '"id":2.*42' <<<"$out" || fail "image: the program gave $out"
  in_image codemode serve --http 0.0.0.0:0 --project none --confine 2>"$work/image.log" &&
    fail "image: it serves everybody"
  ok "image: doctor: $(tail -1 "$work/doctor"); serves over standard input; over HTTP: $(tail -1 "$work/image.log")"
}

mkdir -p "$work"
steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(build again guest archive deb rpm apk npm desktop image clients)
for step in "${steps[@]}"; do
  case $step in
    build | again | guest | archive | deb | rpm | apk | npm | desktop | image | clients) "$step" ;;
    *) fail "there is no step $step" ;;
  esac
done
