#!/bin/sh
# What a Debian root needs beside the executable: the library that Node links to, certificates, and a user without rights.
set -eu
export DEBIAN_FRONTEND=noninteractive
[ -e /usr/lib/x86_64-linux-gnu/libatomic.so.1 ] && [ -d /etc/ssl/certs ] || {
  apt-get update --quiet
  apt-get install --yes --quiet --no-install-recommends libatomic1 ca-certificates
  rm -rf /var/lib/apt/lists/*
}
groupadd --system --gid 990 rowsync
useradd --system --uid 990 --gid 990 --home-dir /var/lib/rowsync --shell /usr/sbin/nologin rowsync
mkdir -p /etc/rowsync /var/lib/rowsync
chown rowsync:rowsync /var/lib/rowsync
chmod 750 /var/lib/rowsync
