#!/usr/bin/env bash
# Builds quickjs.wasm: QuickJS-ng from Debian's source package with
# guest/quickjs.patch, guest/shim.c and guest/bootstrap.js, compiled by Debian bookworm's clang, with every loop made
# to report in by guest/instrument, and initialised by guest/preinit. The same inputs give the same bytes.
#
#   guest/build.sh            builds into .build/ and compares with quickjs.wasm
#   guest/build.sh --update   builds and replaces quickjs.wasm
#
# Needs: clang lld wasi-libc libclang-rt-14-dev-wasm32 patch (installed when they are
# missing and this runs as root), apt-get, dpkg, Go.
set -euo pipefail
cd "$(dirname "$0")/.."

package=qjs-src
version=0.17.0-1
sha256=04631979bdadaccffd76c1cb0aff5d07389aa889a90b6a902eba858a3a3b3988
build=$PWD/.build/guest
deb=$build/${package}_${version}_all.deb
mkdir -p "$build"

missing=()
for p in clang lld wasi-libc libclang-rt-14-dev-wasm32 patch; do
  dpkg -s "$p" >/dev/null 2>&1 || missing+=("$p")
done
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "guest/build.sh: please install: ${missing[*]}" >&2
    exit 1
  fi
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# qjs-src is in Debian sid only. It is downloaded under an apt configuration of
# its own (source list, lists, cache), so that nothing else of the machine is
# upgraded; the mirror is the one that this machine uses already.
if ! echo "$sha256  $deb" | sha256sum -c --status 2>/dev/null; then
  apt=$build/apt
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
    sed -nE 's/^URIs: *([^ ]+\/debian\/?) *$/\1/p; s/^deb (\[[^]]*\] )?([^ ]+\/debian\/?) .*/\2/p' | head -1 || true)
  if [ -z "$mirror" ]; then
    echo "guest/build.sh: no Debian mirror in this machine's apt sources" >&2
    exit 1
  fi
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$apt/sources.list"
  options=(-qq -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update
  (cd "$build" && apt-get "${options[@]}" download "$package=$version") || {
    echo "guest/build.sh: Debian sid no longer has $package $version: it keeps only the newest. Take the new one," >&2
    echo "run the attack suite and make test262 against it, and change version and sha256 here." >&2
    exit 1
  }
  if ! echo "$sha256  $deb" | sha256sum -c --status; then
    echo "guest/build.sh: $package $version is not the one that was pinned: $(sha256sum "$deb")" >&2
    exit 1
  fi
fi
rm -rf "$build/src"
dpkg -x "$deb" "$build/src"
source=$build/src/usr/src/quickjs-ng
patch --quiet --directory="$source" --strip=1 <guest/quickjs.patch # RATIONALE.md says what it changes and why

# bootstrap.js as a C array, without xxd, which not every machine has.
{
  echo 'static char bootstrap_js[] = {'
  od -An -v -tu1 guest/bootstrap.js | sed 's/[0-9]\+/&,/g'
  echo '0};'
} >"$build/bootstrap.h"

# Bulk memory in guest/mem.c only, which says why.
flags=(--target=wasm32-wasi -O2 -mnontrapping-fptoint -msign-ext -mexec-model=reactor
  -DNDEBUG -D_GNU_SOURCE -fno-strict-aliasing -I"$source" -I"$build" -Iguest -w)
objects=()
for f in "$source/libregexp.c" "$source/libunicode.c" "$source/dtoa.c" guest/shim.c guest/mem.c; do
  o=$build/$(basename "$f" .c).o
  more=()
  [ "$f" = guest/mem.c ] && more=(-mbulk-memory -fno-builtin)
  clang "${flags[@]}" "${more[@]}" -c "$f" -o "$o" &
  objects+=("$o")
done
for job in $(jobs -p); do wait "$job"; done
# The stack comes first, so that running over its end traps; 3 MiB are there
# from the start, so that most runs never grow.
clang --target=wasm32-wasi -mexec-model=reactor -Wl,-z,stack-size=1048576 -Wl,--stack-first \
  -Wl,--initial-memory=3342336 "${objects[@]}" -o "$build/raw.wasm"
go run ./guest/instrument -in "$build/raw.wasm" -out "$build/cold.wasm" -skip JS_CallInternal -bulk memmove,memset -strip -stats

go run ./guest/preinit -in "$build/cold.wasm" -out "$build/quickjs.wasm"

if [ "${1:-}" = --update ]; then
  cp "$build/quickjs.wasm" quickjs.wasm
  cp quickjs.wasm guest/quickjs/quickjs.wasm # go:embed reaches no parent folder
  sha256sum quickjs.wasm | tee guest/quickjs/quickjs.wasm.sha256
elif cmp -s "$build/quickjs.wasm" quickjs.wasm && cmp -s quickjs.wasm guest/quickjs/quickjs.wasm; then
  echo "quickjs.wasm is what these sources give"
else
  echo "guest/build.sh: quickjs.wasm differs from what these sources give; guest/build.sh --update replaces it" >&2
  exit 1
fi
