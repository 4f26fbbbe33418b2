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

# usage: the comment at the head of the script that was started.
usage() { awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"; }

usage_error() {
  say "error: $*"
  say ""
  usage >&2
  exit 2
}

# check_arguments KNOWN "$@": prints the usage where it is asked for, and refuses what is not known, before anything is
# installed or begun. KNOWN: words and flags, those with "=" at the end that take a value; "*" for any word. The words that
# were given are in WORDS, a space before each.
check_arguments() {
  local known=" $1 " argument name
  WORDS=""
  shift
  while [ $# -gt 0 ]; do
    argument=$1
    name="${argument%%=*}"
    shift
    case "$argument" in
      -h | --help)
        usage
        exit 0
        ;;
      -?*)
        case "$known" in
          *" $argument "*) continue ;;
          *" $name= "*) ;;
          *) usage_error "unknown flag \"$name\"" ;;
        esac
        case "$argument" in *=*) continue ;; esac
        [ $# -gt 0 ] || usage_error "\"$name\" needs a value"
        shift
        ;;
      *)
        case "$known" in
          *" $argument "* | *" * "*) ;;
          *) usage_error "unknown \"$argument\"" ;;
        esac
        WORDS="$WORDS $argument"
        ;;
    esac
  done
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

# Waits for another apt-get that is at work, as on a machine that has just started.
run_apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 \
    -o Dpkg::Use-Pty=0 "$@" >&2
}

# Tries again what failed: a mirror may be away for a moment, and an installation that was killed is in the way.
install_by_apt_get() {
  local try
  for try in 1 2 3; do
    run_apt_get update || say "apt-get update failed; going on with what is known"
    if run_apt_get install -y --no-install-recommends "$@"; then return 0; fi
    [ "$try" -lt 3 ] || return 1
    say "that failed; trying again in 10 s"
    sleep 10
    as_root dpkg --configure -a >&2 || true
  done
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
    apt-get) install_by_apt_get "$@" ;;
    dnf) as_root dnf -q install -y "$@" >&2 ;;
    brew) brew install --quiet "$@" >&2 ;;
  esac || fail "$manager could not install: $*"
}
