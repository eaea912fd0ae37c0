#!/bin/sh
# Runs after a package has been installed or upgraded. Nothing is started; what was running before goes on with the new
# program.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart carillon.service 'carillon@*.service' || true
fi
