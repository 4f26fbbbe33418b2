# shellcheck shell=bash
# The CPython versions that the sandbox is promised for: those of this machine, and images of them. Needs engine.sh.

OLDEST_MINOR=9
NEWEST_MINOR=14
PYTHONS=() # by minor version, the path of one interpreter

# python_facts COMMAND: its minor version and its own path; nothing unless it is a CPython 3 with the usual lock.
python_facts() {
  "$1" -I -c 'import sys
if sys.implementation.name == "cpython" and sys.version_info[0] == 3 and "t" not in sys.abiflags:
    print(sys.version_info[1], sys.executable)' 2>/dev/null </dev/null
}

# note_python COMMAND [MINOR]: takes it for its version, if that is promised (or newer) and the one asked for.
note_python() {
  local facts minor
  facts="$(python_facts "$1")" || return 1
  minor="${facts%% *}"
  if [ -z "$facts" ] || [ "$minor" -lt "$OLDEST_MINOR" ] || [ "$minor" != "${2:-$minor}" ]; then return 1; fi
  PYTHONS[minor]="${facts#* }"
}

# Where a version can be: what setup programs for Python do, and what fetch_python left.
python_candidates() {
  local name="python3.$1" folder
  type -aP "$name" || true
  for folder in /usr/bin /usr/local/bin /opt/homebrew/bin /opt/python/*/bin \
    "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/3."$1"[.-]*/bin \
    "${UV_PYTHON_INSTALL_DIR:-${HOME:-}/.local/share/uv/python}"/cpython-3."$1".*/bin \
    "/Library/Frameworks/Python.framework/Versions/3.$1/bin"; do
    [ ! -x "$folder/$name" ] || printf '%s\n' "$folder/$name"
  done
  printf '%s\n' "$TOOLS/$name/usr/bin/sandpy-python"
}

# Sets PYTHONS: the default python3, and one of each other version that is promised.
find_pythons() {
  local minor candidate
  PYTHONS=()
  note_python python3 || say "python3 is no CPython 3.$OLDEST_MINOR or newer"
  for ((minor = OLDEST_MINOR; minor <= NEWEST_MINOR; minor++)); do
    [ -z "${PYTHONS[minor]:-}" ] || continue
    while IFS= read -r candidate; do
      if note_python "$candidate" "$minor"; then break; fi
    done < <(python_candidates "$minor" 2>/dev/null)
  done
  [ "${#PYTHONS[@]}" -gt 0 ] || fail "no CPython 3.$OLDEST_MINOR or newer on this machine"
}

# The promised versions that are not in PYTHONS: "3.13 3.14".
missing_pythons() {
  local minor missing=""
  for ((minor = OLDEST_MINOR; minor <= NEWEST_MINOR; minor++)); do
    [ -n "${PYTHONS[minor]:-}" ] || missing="$missing 3.$minor"
  done
  printf '%s\n' "${missing# }"
}

can_fetch_python() {
  [ "$(id -u)" -eq 0 ] && have debootstrap && have dpkg-deb && [ -r /usr/share/keyrings/debian-archive-keyring.gpg ]
}

# fetch_python MINOR: from Debian's unstable release, unpacked into .tools. Nothing of it is installed or runs as part of
# this system: on the host it runs with its own loader and libraries, and image_of_python packs it from within its tree.
fetch_python() {
  local minor=$1 tree="$TOOLS/python3.$1" partial deb loader
  can_fetch_python || return 1
  say "about to fetch Python 3.$minor from Debian's unstable release into .tools/ (at most 150 s)"
  partial="$tree.partial"
  rm -rf "$tree" "$partial"
  mkdir -p "$partial/tree"
  if ! bounded 150 debootstrap --force-check-gpg --download-only --variant=minbase --include="python3.$minor" \
    sid "$partial/debs" >"$partial/log" 2>&1 </dev/null; then
    say "that failed: $(tail -n 1 "$partial/log")"
    rm -rf "$partial"
    return 1
  fi
  for deb in "$partial"/debs/var/cache/apt/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -xf - -C "$partial/tree" || return 1
  done
  rm -rf "$partial"/tree/usr/share/doc "$partial"/tree/usr/share/locale "$partial"/tree/usr/share/man
  mv "$partial/tree" "$tree"
  rm -rf "$partial"
  for loader in "$tree"/usr/lib/*-linux-*/ld-linux*.so.*; do
    # shellcheck disable=SC2016 # expanded when it runs
    printf '#!/bin/sh\nexec "%s" --library-path "%s" --argv0 "$0" "%s" "$@"\n' \
      "$loader" "${loader%/*}" "$tree/usr/bin/python3.$minor" >"$tree/usr/bin/sandpy-python"
  done
  chmod 755 "$tree/usr/bin/sandpy-python"
  note_python "$tree/usr/bin/sandpy-python" "$minor" || {
    say "the Python 3.$minor that was fetched does not run here"
    return 1
  }
}

# host_image_script MINOR ARGUMENT…: sandbox/image/pack_host.py about that Python, where its libraries are found.
host_image_script() {
  local minor=$1 python="${PYTHONS[$1]}" tree="$TOOLS/python3.$1"
  shift
  if [ "$python" != "$tree/usr/bin/sandpy-python" ]; then
    "$python" -I "$HOST_PACKER" --python "$python" "$@"
    return
  fi
  cp "$HOST_PACKER" "$tree/tmp/"
  chroot "$tree" "/usr/bin/python3.$minor" -I /tmp/pack_host.py --python "/usr/bin/python3.$minor" "$@"
}

VERSION_IMAGE="${HOST_IMAGE%:*}:3" # and ".MINOR"

# image_of_python ENGINE MINOR: makes its image ready and sets IMAGE. One tag for each version: a new image replaces it.
image_of_python() {
  local engine=$1 minor=$2 tree="$TOOLS/python3.$2" fingerprint tar
  IMAGE="$VERSION_IMAGE.$minor"
  fingerprint="$(host_image_script "$minor" --fingerprint)" || return 1
  if has_host_image "$engine" "$fingerprint" "$IMAGE"; then return 0; fi
  tar="$TEMP/python3.$minor.tar"
  if [ "${PYTHONS[minor]}" = "$tree/usr/bin/sandpy-python" ]; then
    host_image_script "$minor" --output /tmp/image.tar && mv "$tree/tmp/image.tar" "$tar" || return 1
  else
    host_image_script "$minor" --output "$tar" || return 1
  fi
  import_host_image "$engine" "$fingerprint" "$IMAGE" <"$tar" || return 1
  rm -f "$tar"
}

# remove_images_of_pythons ENGINE MINOR…: those of other versions than these.
remove_images_of_pythons() {
  local engine=$1 image kept
  shift
  kept=" $* "
  "$engine" images --format '{{.Repository}}:{{.Tag}}' 2>/dev/null | while IFS= read -r image; do
    case "$image" in
      "$VERSION_IMAGE".*)
        case "$kept" in *" ${image#"$VERSION_IMAGE".} "*) ;; *) "$engine" rmi "$image" >/dev/null 2>&1 || true ;; esac
        ;;
    esac
  done
}
