#!/bin/sh
# Makes the root folder of a clean Debian, of the release and from the package mirror of the machine that this runs on:
#   machine-root.sh TARGET PACKAGE[,PACKAGE…]
# TARGET appears when it is whole; where it is there, nothing is done. Needs root, debootstrap, and a network. The mounts
# that debootstrap makes stay in a namespace of their own, so that an interrupted run leaves none behind.
set -eu
target=$1
packages=$2

if [ "${IN_NAMESPACE:-}" != yes ]; then
  mkdir -p "$(dirname "$target")"
  # One at a time; whoever waited finds the folder made.
  IN_NAMESPACE=yes exec flock "$target.lock" unshare --mount --propagation slave "$0" "$@"
fi

[ ! -d "$target" ] || exit 0
. /etc/os-release
# The first archive that apt has for this release: later ones are updates and other people's.
mirror=$(apt-get indextargets --no-release-info --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
  awk -v release="$VERSION_CODENAME" '$1 == release && $2 == "main" { print $3; exit }')
[ -n "$mirror" ] || { echo "apt has no archive of $VERSION_CODENAME" >&2; exit 1; }
proxy=
eval "$(apt-config shell proxy Acquire::http::Proxy)"
[ -z "$proxy" ] || export http_proxy="$proxy"

unfinished=$target.unfinished
rm -rf "$unfinished"
debootstrap --variant=minbase --include="$packages" "$VERSION_CODENAME" "$unfinished" "$mirror" || {
  tail -n 5 "$unfinished/debootstrap/debootstrap.log" >&2 || true
  exit 1
}
rm -rf "$unfinished"/var/cache/apt/archives/*.deb
mv "$unfinished" "$target"
