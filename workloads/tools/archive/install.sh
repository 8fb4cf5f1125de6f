#!/bin/sh
# Installs percolator-bench from this folder, without a network:
#
#     sh install.sh <new folder>
#
# It needs git, tar and sha256sum (or shasum), and no Node.js: the archive brings it.
set -eu

[ $# -eq 1 ] || { echo 'Usage: sh install.sh <new folder>' >&2; exit 2; }
[ ! -e "$1" ] || { echo "The folder must be new, but $1 is there." >&2; exit 2; }
cd -- "$(dirname -- "$0")"
archive=$PWD
cd - >/dev/null

sum='sha256sum'
command -v sha256sum >/dev/null || sum='shasum -a 256'
(cd -- "$archive" && $sum --check --status SHA256SUMS) ||
  { echo 'The archive is damaged: SHA256SUMS names other contents.' >&2; exit 1; }

git clone --quiet "$archive/repository.bundle" "$1"
tar --extract --file "$archive/node_modules.tar" --directory "$1"
echo "Installed. Go on with: cd $1 && ./run.sh reproduce --profile smoke"
