#!/bin/sh
# The users of an etcd that a board lies in. Run it once, with the passwords
# changed; then start nodes with --board etcd://ramet:…@host:2379/ramet by
# RAMET_BOARD in their environment. Another prefix wants another role.
set -e
etcdctl user add root:change-me-root
etcdctl user grant-role root root
etcdctl role add ramet
etcdctl role grant-permission ramet --prefix=true readwrite ramet/
etcdctl user add ramet:change-me-node
etcdctl user grant-role ramet ramet
etcdctl auth enable
