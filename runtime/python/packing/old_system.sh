#!/bin/sh
# Makes a folder with the root of a Debian 11, whose libc the wheel is linked with: old_system.sh FOLDER
# Wheels then also run on systems with glibc 2.31. Needs root and Debian's package mmdebstrap. Configure the build with
# -DKDL_OLD_SYSTEM=FOLDER.
set -eu
root=${1:?a folder for the root}
mmdebstrap --variant=apt --include=libc6-dev,libgcc-10-dev bullseye "$root"
# Links to absolute paths lead out of the folder.
find "$root/usr/lib" "$root/lib" "$root/lib64" -xdev -type l -lname '/*' | while read -r link; do
  ln -sfr "$root$(readlink "$link")" "$link"
done
