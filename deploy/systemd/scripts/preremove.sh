#!/bin/sh
# Runs before a package is removed, and not when it is upgraded: dpkg says "remove" then, and rpm 0.
set -e
if [ -d /run/systemd/system ] && { [ "$1" = remove ] || [ "$1" = 0 ]; }; then
	systemctl stop carillon.service 'carillon@*.service' || true
	systemctl disable carillon.service || true
fi
