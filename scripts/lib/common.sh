# shellcheck shell=bash
# What all scripts share. Source it from a bash script that has set -euo pipefail; works with bash 3.2 as well.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
# shellcheck disable=SC2034 # used by the files that source this one
TOOLS="$ROOT/.tools"

# Progress goes to stderr: stdout belongs to a script's answer.
say() { printf '%s\n' "$*" >&2; }

fail() {
  say "error: $*"
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# bounded SECONDS COMMAND…: like timeout(1), which macOS lacks. 124 when the time ran out.
bounded() {
  local limit=$1 pid tick=0 status=0
  shift
  "$@" &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    if [ "$tick" -ge $((limit * 10)) ]; then
      kill "$pid" 2>/dev/null || true
      wait "$pid" 2>/dev/null || true
      return 124
    fi
    sleep 0.1
    tick=$((tick + 1))
  done
  wait "$pid" || status=$?
  return "$status"
}

# as_root COMMAND…: runs it as root, by sudo where needed. sudo asks for a password only at a terminal.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif [ -t 0 ]; then
    sudo "$@"
  else
    sudo -n "$@"
  fi
}

# Whether as_root can be expected to work.
can_be_root() {
  [ "$(id -u)" -eq 0 ] && return 0
  have sudo || return 1
  [ -t 0 ] || sudo -n true >/dev/null 2>&1
}

# install_packages REASON PACKAGE…: by the system's package manager. Says first what it is about to do.
install_packages() {
  local reason=$1 manager
  shift
  if have apt-get; then
    manager="apt-get"
  elif have dnf; then
    manager="dnf"
  elif have brew; then
    manager="brew"
  else
    fail "$reason, and there is no apt-get, dnf or brew here to install it: install $* by hand"
  fi
  if [ "$manager" != brew ] && ! can_be_root; then
    fail "$reason, and installing it needs root: run \"$manager install $*\" as root, then start again"
  fi
  say "$reason; about to install with $manager: $*"
  case "$manager" in
    apt-get)
      as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update >&2
      as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >&2
      ;;
    dnf) as_root dnf -q install -y "$@" >&2 ;;
    brew) brew install --quiet "$@" >&2 ;;
  esac
}
