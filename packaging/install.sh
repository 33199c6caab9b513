#!/bin/sh
# Installs Conclave from this folder, or removes it.
#
#   ./install.sh [--prefix DIR] [--uninstall]        (default: /usr/local)
#
# The program needs glibc of the same or a later version than the machine that built it.
set -eu
from=$(cd "$(dirname "$0")" && pwd)
prefix=/usr/local
action=install

while [ $# -gt 0 ]; do
  case $1 in
    --prefix)
      [ $# -gt 1 ] || { echo "install.sh: --prefix needs a folder" >&2; exit 64; }
      prefix=$2
      shift
      ;;
    --uninstall) action=uninstall ;;
    -h | --help)
      sed -n '2,/^set -/{/^#/s/^# \{0,1\}//p}' "$0"
      exit 0
      ;;
    *)
      echo "install.sh: unknown argument '$1'; try --help" >&2
      exit 64
      ;;
  esac
  shift
done
case $prefix in
  /*) ;;
  *) prefix=$(pwd)/$prefix ;;
esac

# The installed name of a file in this folder.
target_of() { echo "$prefix/${1%.in}"; }

files=$(cd "$from" && find bin lib share -type f)

if [ "$action" = uninstall ]; then
  for file in $files; do rm -f "$(target_of "$file")"; done
  # Only folders that are empty now.
  (cd "$from" && find bin lib share -depth -type d) | while read -r folder; do
    rmdir "$prefix/$folder" 2>/dev/null || true
  done
  exit 0
fi

for file in $files; do
  target=$(target_of "$file")
  mkdir -p "$(dirname "$target")"
  case $file in
    # A running server keeps the old file.
    bin/*) install -m 755 "$from/$file" "$target" ;;
    *.in) sed "s|@bindir@|$prefix/bin|" "$from/$file" >"$target" && chmod 644 "$target" ;;
    *) install -m 644 "$from/$file" "$target" ;;
  esac
done
echo "installed $prefix/bin/conclave; try: conclave lock test -- echo it works"
