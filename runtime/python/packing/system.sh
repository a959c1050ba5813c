#!/bin/sh
# Makes a folder with the files of Debian packages that programs are linked with: system.sh FOLDER SUITE ARCHITECTURE PACKAGE...
# Needs root and the package mmdebstrap. Runs nothing of the packages, so that they can be for another architecture. Instead, this
# script writes their part of dpkg's database, in which components.py looks up licences.
set -eu
if [ "${1:-}" = --database ]; then
  cd "$2/var/lib/dpkg"
  mkdir -p info
  for archive in "$2"/var/cache/apt/archives/*.deb; do
    field() { dpkg-deb --field "$archive" "$1"; }
    { dpkg-deb --field "$archive"; printf 'Status: install ok installed\n\n'; } >>status
    name=$(field Package)
    [ "$(field Multi-Arch)" != same ] || name=$name:$(field Architecture)
    dpkg-deb --fsys-tarfile "$archive" | tar -t | sed 's,^\.,,; s,/$,,; s,^$,/.,' >"info/$name.list"
  done
  echo 1 >info/format
  exit
fi

root=${1:?a folder for the root}
suite=${2:?a suite of Debian}
architecture=${3:?an architecture of Debian}
shift 3
packages=$(printf '%s,' "$@")
# In the suite with security updates of Debian 11, archives are missing for some architectures.
mmdebstrap --variant=extract --skip=check/qemu --architectures="$architecture" --include="${packages%,}" \
  --extract-hook="sh $(realpath "$0") --database \"\$1\"" "$suite" "$root" "deb http://${DEBIAN_MIRROR:-deb.debian.org}/debian $suite main"
# Links to absolute paths lead out of the folder.
find "$root/usr" "$root"/lib* -xdev -type l -lname '/*' | while read -r link; do
  ln -sfr "$root$(readlink "$link")" "$link"
done
