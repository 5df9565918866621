#!/bin/sh
# After the package is removed or upgraded. The record and other state stay; docs/installing.md says how to remove them.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
fi
