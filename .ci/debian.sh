#!/bin/sh
# Makes the environment of all experiments on a bare Debian 13, as root: in a container, in a virtual
# machine, or in a chroot that debootstrap has made.
#
#     sh .ci/debian.sh          what all claims need, HBase's Java and Maven included
#     sh .ci/debian.sh minimal  what the claims need that do not ask for HBase
#
# It installs packages of Debian only. What npm and Maven bring comes later: with the first call of
# ./run.sh, and with ./run.sh fetch. It may run twice.
set -eu

# git names the commit in each record. Node.js and npm are those of Debian, which set up the Node.js
# that measures; procps is what the tests look at processes with.
packages='ca-certificates git nodejs npm procps'
case "${1-all}" in
  minimal) ;;
  # Java for HBase and Hadoop, Maven to fetch them, and pip for the checker of the model.
  all) packages="$packages default-jre-headless maven python3-pip" ;;
  *)
    echo "The only word is minimal, but was $1." >&2
    exit 2
    ;;
esac

export DEBIAN_FRONTEND=noninteractive
apt-get update
# The list is one word for each package.
# shellcheck disable=SC2086
apt-get install --yes --no-install-recommends $packages

version=$(node --version)
case "${version#v}" in
  [0-9].* | 1[0-9].*)
    echo "Node.js 20 or newer is needed, and this Debian has $version: use Debian 13 or newer." >&2
    exit 2
    ;;
esac
echo 'Everything is here. Go on with ./run.sh reproduce --profile smoke.'
