#!/bin/sh
# Before the package is removed: the service ends. An upgrade calls this too (deb: "upgrade", rpm: 1); then it goes on.
set -e
case "$1" in
  upgrade | 1) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
  systemctl disable --now codemode.service || true
fi
