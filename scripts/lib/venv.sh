# shellcheck shell=bash
# Python packages for benches and tests, in folders that git ignores. Needs common.sh.

# ensure_venv NAME REQUIREMENTS: .tools/NAME holds a Python with what the file names. Says why where it cannot.
ensure_venv() {
  local venv="$TOOLS/$1" wanted=$2
  if [ -x "$venv/bin/python" ] && cmp -s "$wanted" "$venv/installed.txt"; then return 0; fi
  say "about to install what ${wanted#"$ROOT"/} names into .tools/$1/"
  rm -rf "$venv"
  if ! python3 -m venv "$venv" >/dev/null 2>&1; then
    # Debian has the bundled pip in a package of its own.
    if have apt-get; then install_packages "\"python3 -m venv\" does not work" python3-venv; fi
    rm -rf "$venv"
    python3 -m venv "$venv" >&2 || return 1
  fi
  "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted" >&2 || return 1
  cp "$wanted" "$venv/installed.txt"
}
