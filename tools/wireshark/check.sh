#!/usr/bin/env bash
# Tries the dissector with the installed tshark: what it shows of sample.txt must be sample.shown.
# Needs tshark and text2pcap. Wireshark runs no Lua scripts as root: then this asks setpriv for another user.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/anabranch-sf.lua" "$work/"
chmod 755 "$work"
text2pcap -q -i 132 "$here/sample.txt" "$work/sample.pcap"
run=(env HOME="$work" XDG_CONFIG_HOME="$work")
if [ "$(id -u)" = 0 ]; then
    chmod 644 "$work"/*
    run+=(setpriv --reuid=65534 --regid=65534 --clear-groups)
fi
"${run[@]}" tshark -X lua_script:"$work/anabranch-sf.lua" -r "$work/sample.pcap" -V -O anabranch_sf 2>"$work/errors" |
    grep -vE '^(Frame|Raw|Ethernet|Internet|Stream Control)' >"$work/shown"
if grep -i 'lua' "$work/errors"; then exit 1; fi
if [ "${UPDATE_SAMPLE:-}" ]; then cp "$work/shown" "$here/sample.shown"; fi
diff -u "$here/sample.shown" "$work/shown" && echo "the dissector shows what it should"
