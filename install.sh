#!/bin/sh
# Installs Sandpy from a release page: fetches the archive for this machine, compares it with the checksums of the same
# release, refuses where they differ or are missing, and puts the binary into a folder of yours. Needs no root.
set -eu

# OWNER/NAME on GitHub. A release page's own copy of this file has it; here it is empty.
REPOSITORY=""

usage() {
  cat <<'EOF'
Usage: sh install.sh [--version X.Y.Z] [--dir DIR] [--target NAME] [--from URL]

  --version X.Y.Z  this version; the newest without it
  --dir DIR        where to put the binary; ~/.local/bin without it, or what SANDPY_INSTALL_DIR says
  --target NAME    another build than the one that fits, such as linux-x64-baseline
  --from URL       a folder that has the files of a release, such as a mirror of your own

Where DIR ends in /bin, the man page and the completions go to the share folder beside it.
EOF
}

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "install.sh: error: $*"
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# Prints the name of this machine's archive, without its ending.
detect_target() {
  case "$(uname -s)" in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    MINGW* | MSYS* | CYGWIN*) os=windows ;;
    *) fail "there is no build for \"$(uname -s)\"; there are Linux, macOS and Windows" ;;
  esac
  case "$(uname -m)" in
    x86_64 | amd64) arch=x64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "there is no build for the processor \"$(uname -m)\"; there are x86_64 and arm64" ;;
  esac
  if [ "$os" = linux ] && have getconf && [ "$(getconf LONG_BIT 2>/dev/null)" = 32 ]; then
    fail "this system is a 32-bit one on a 64-bit processor, and there is no build for it"
  fi
  # A shell under Rosetta says x86_64 on a processor that is arm64.
  if [ "$os $arch" = "darwin x64" ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; then
    arch=arm64
  fi
  [ "$os $arch" != "windows arm64" ] || arch=x64 # Windows emulates it
  variant=""
  if [ "$os" = linux ]; then
    if is_musl; then
      variant=-musl
    elif [ "$arch" = x64 ] && ! grep -q -w avx2 /proc/cpuinfo 2>/dev/null; then
      variant=-baseline
    fi
  fi
  printf '%s\n' "$os-$arch$variant"
}

is_musl() {
  if have ldd; then
    case "$(ldd --version 2>&1 || true)" in
      *musl*) return 0 ;;
      *) return 1 ;;
    esac
  fi
  for loader in /lib/ld-musl-*; do
    [ -e "$loader" ] && return 0
  done
  return 1
}

# fetch URL FILE: with what there is. Only the tests' own machine may be asked without encryption.
fetch() {
  case "$1" in
    *@*) fail "\"$1\" is not fetched: a URL with a name in it may lead elsewhere than it seems" ;;
    https://*) protocols="=https" ;;
    http://127.0.0.1:* | http://localhost:*) protocols="=http,https" ;;
    *) fail "\"$1\" is not fetched: only https:// is" ;;
  esac
  if have curl; then
    curl -fsSL --proto "$protocols" --retry 2 -o "$2" "$1" || fail "\"$1\" could not be fetched: is there such a release, and a network?"
  elif have wget; then
    wget -q -O "$2" "$1" || fail "\"$1\" could not be fetched: is there such a release, and a network?"
  else
    fail "there is neither curl nor wget here: install one of them"
  fi
}

sha256_of() {
  if have sha256sum; then
    sum="$(sha256sum "$1")"
  elif have shasum; then
    sum="$(shasum -a 256 "$1")"
  elif have openssl; then
    sum="$(openssl dgst -sha256 -r "$1")"
  else
    fail "there is no sha256sum, shasum or openssl here to check what was fetched: install one of them"
  fi
  printf '%s\n' "${sum%% *}"
}

# verify FILE NAME CHECKSUMS: ends here where the checksum is missing, is none, or differs.
verify() {
  expected="$(awk -v name="$2" '$2 == name || $2 == "*" name { print $1 }' "$3")"
  case "$expected" in
    "") fail "checksums.txt of this release has no line for \"$2\": nothing was installed" ;;
    *[!0-9a-f]*) fail "checksums.txt of this release has no good line for \"$2\": nothing was installed" ;;
  esac
  actual="$(sha256_of "$1")"
  [ "$actual" = "$expected" ] || fail "\"$2\" is not what was released: nothing was installed
  expected sha256 $expected
  fetched  sha256 $actual
  It was cut on its way, or changed. Try again; if it stays so, tell whoever publishes Sandpy."
}

unpack() {
  case "$1" in
    *.zip)
      have unzip || fail "there is no unzip here: install it"
      unzip -q "$1" -d "$2"
      ;;
    *) tar -xzf "$1" -C "$2" ;;
  esac
}

# Says how the shell finds it, where it does not yet.
hint_path() {
  case ":$PATH:" in
    *":$1:"*)
      found="$(command -v sandpy 2>/dev/null || true)"
      if [ -n "$found" ] && [ "$found" != "$1/sandpy" ]; then say "note: \"$found\" comes first on PATH"; fi
      return
      ;;
  esac
  say "\"$1\" is not on PATH yet; add it:"
  case "${SHELL:-}" in
    */fish) say "  fish_add_path \"$1\"" ;;
    */zsh) say "  echo 'export PATH=\"$1:\$PATH\"' >> ~/.zshrc" ;;
    */bash) say "  echo 'export PATH=\"$1:\$PATH\"' >> ~/.bashrc" ;;
    *) say "  export PATH=\"$1:\$PATH\"" ;;
  esac
}

# install_share FROM TO: man page and completions. They are no reason to fail.
install_share() {
  [ -d "$1" ] || return 0
  if mkdir -p "$2" 2>/dev/null && cp -R "$1/." "$2/" 2>/dev/null; then return 0; fi
  say "note: man page and completions could not be put into \"$2\""
}

main() {
  version="" dir="${SANDPY_INSTALL_DIR:-}" target="" from=""
  while [ $# -gt 0 ]; do
    case "$1" in
      --help | -h)
        usage
        return
        ;;
      --version | --dir | --target | --from)
        [ -n "${2:-}" ] || fail "\"$1\" needs a value; --help says which"
        case "$1" in
          --version) version="${2#v}" ;;
          --dir) dir="$2" ;;
          --target) target="$2" ;;
          --from) from="${2%/}" ;;
        esac
        shift 2
        ;;
      *) fail "unknown \"$1\"; --help says what there is" ;;
    esac
  done
  case "$version" in *[!0-9A-Za-z.+-]*) fail "\"$version\" is no version" ;; esac
  if [ -z "$dir" ]; then
    [ -n "${HOME:-}" ] || fail "HOME is not set: say with --dir where to install"
    dir="$HOME/.local/bin"
  fi
  case "$dir" in /* | [A-Za-z]:*) ;; *) dir="$PWD/$dir" ;; esac
  if [ -z "$from" ]; then
    [ -n "$REPOSITORY" ] || fail "this copy does not know where Sandpy is published: take install.sh from a release page, or say --from URL"
    from="https://github.com/$REPOSITORY/releases/latest/download"
    [ -z "$version" ] || from="https://github.com/$REPOSITORY/releases/download/v$version"
  fi
  [ -n "$target" ] || target="$(detect_target)"
  case "$target" in
    *[!0-9a-z-]*) fail "\"$target\" is no target" ;;
    windows-*) archive="sandpy-$target.zip" binary=sandpy.exe ;;
    *) archive="sandpy-$target.tar.gz" binary=sandpy ;;
  esac

  temp="$(mktemp -d "${TMPDIR:-/tmp}/sandpy-install.XXXXXX")"
  trap 'rm -rf "$temp"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  say "fetching $from/$archive"
  fetch "$from/checksums.txt" "$temp/checksums.txt"
  fetch "$from/$archive" "$temp/$archive"
  verify "$temp/$archive" "$archive" "$temp/checksums.txt"
  unpack "$temp/$archive" "$temp"
  unpacked="$temp/sandpy-$target"
  [ -f "$unpacked/$binary" ] || fail "\"$archive\" has no $binary"

  if ! mkdir -p "$dir" 2>/dev/null || [ ! -w "$dir" ]; then
    fail "\"$dir\" cannot be written to: choose a folder of yours with --dir"
  fi
  # Beside the old one, then in its place in one step: a Sandpy that runs goes on.
  fresh="$dir/.$binary.$$"
  trap 'rm -rf "$temp" "$fresh"' EXIT
  cp "$unpacked/$binary" "$fresh" || fail "\"$dir\" cannot take the binary: is its disk full?"
  chmod 755 "$fresh"
  installed="$("$fresh" --version 2>"$temp/words")" || fail "the binary for \"$target\" does not run here: $(head -n 3 "$temp/words")
  On Alpine it needs \"apk add libstdc++ libgcc\"; another build can be had with --target."
  [ -z "$version" ] || case "$installed" in
    *"$version"*) ;;
    *) fail "asked for \"$version\", but the archive has \"$installed\": nothing was installed" ;;
  esac
  mv -f "$fresh" "$dir/$binary"
  case "$dir" in */bin) install_share "$unpacked/share" "${dir%/bin}/share" ;; esac
  say "installed $dir/$binary: $installed"
  hint_path "$dir"
  say "next: \"$dir/$binary\" doctor says what is missing"
}

# On the last line, so that a copy that was cut does nothing.
main "$@"
