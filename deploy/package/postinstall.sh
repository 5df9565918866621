#!/bin/sh
# After the package is installed: systemd learns of the unit. Nobody starts it but you.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
fi
