#!/bin/sh
# Installs header, libraries and pkg-config file: install.sh FOLDER-OF-LIBRARIES, with PREFIX (/usr/local) and DESTDIR as usual.
#
#     cargo build --release -p anabranch-capi
#     PREFIX=/usr/local sh crates/capi/install.sh target/release
set -eu
here=$(cd "$(dirname "$0")" && pwd)
built=${1:?which folder has libanabranch_c.a and libanabranch_c.so?}
prefix=${PREFIX:-/usr/local}
to=${DESTDIR:-}$prefix
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/../../Cargo.toml" | head -n 1)
[ -n "$version" ] || { echo "install.sh: no version in Cargo.toml" >&2; exit 1; }

mkdir -p "$to/include" "$to/lib/pkgconfig"
install -m 644 "$here/include/anabranch.h" "$to/include/anabranch.h"
install -m 644 "$built/libanabranch_c.a" "$to/lib/libanabranch.a"
install -m 755 "$built/libanabranch_c.so" "$to/lib/libanabranch.so.$version"
# Programs ask for the soname when they start (build.rs), compilers for the name without a number.
ln -sf "libanabranch.so.$version" "$to/lib/libanabranch.so.0"
ln -sf libanabranch.so.0 "$to/lib/libanabranch.so"
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" "$here/anabranch.pc.in" >"$to/lib/pkgconfig/anabranch.pc"
