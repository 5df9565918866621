#!/usr/bin/env bash
# make apidiff BASE=v1.2.3: what changed incompatibly in the packages that Go programs import, since a version. It fails
# if CHANGELOG.md does not name each such change, in a line that is new since then, as `package.Name`.
set -euo pipefail
cd "$(dirname "$0")/.."
base=${1:-} module=github.com/codemode-project/codemode apidiff=$PWD/.build/apidiff/apidiff
[ -n "$base" ] || { echo "apidiff: name a version or a commit: make apidiff BASE=v1.2.3" >&2; exit 2; }
work=$(mktemp -d)
trap 'git worktree remove --force "$work/base" 2>/dev/null; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/base" "$base"
(cd "$work/base" && "$apidiff" -m -w "$work/api" "$module")

# docs/compatibility.md names what is no part of the promise.
"$apidiff" -m -incompatible "$work/api" "$module" >"$work/all"
grep -E '^- ' "$work/all" |
  grep -vE "^- (\./|package $module/)(cmd|console|docs|examples|guest|server|testdata)(/|\.|:)" \
    >"$work/changes" || true
if [ ! -s "$work/changes" ]; then
  echo "apidiff: no incompatible change since $base"
  exit 0
fi
cat "$work/changes"
git diff "$base" -- CHANGELOG.md | grep '^+' >"$work/said" || true
unsaid=0
while read -r line; do
  # "- ./approvals/prompt.(*Request).Bind: changed from ..." is about prompt.Request.Bind, "- New: removed" about
  # codemode.New, "- package .../notify: removed" about notify.
  name=$(sed -E 's/^- //; s/: .*//; s/,.*//; s/^package //; s/[(*)]//g; s|.*/||' <<<"$line")
  case $line in "- ./"* | "- package "*) ;; *) name=codemode.$name ;; esac
  if ! grep -qF "\`$name\`" "$work/said"; then
    echo "apidiff: CHANGELOG.md does not name \`$name\`" >&2
    unsaid=1
  fi
done <"$work/changes"
exit "$unsaid"
