#!/bin/sh
# Runs after a package has been removed. The data in /var/lib/carillon stays.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
