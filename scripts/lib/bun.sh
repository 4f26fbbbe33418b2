# shellcheck shell=bash
# Bun in the pinned version, and the dependencies. Sets BUN. Needs common.sh.

# The version that package.json pins.
pinned_bun_version() {
  sed -n 's/^ *"bun": "\([0-9.]*\)".*/\1/p' "$ROOT/package.json"
}

is_pinned_bun() {
  [ "$("$1" --version 2>/dev/null)" = "$2" ]
}

# Sets BUN to a bun of the pinned version: from PATH, from an earlier set-up, or installed into .tools by npm.
ensure_bun() {
  local version candidate fresh
  version="$(pinned_bun_version)"
  [ -n "$version" ] || fail "package.json pins no version of bun in devDependencies"
  for candidate in \
    "$(command -v bun || true)" \
    "$TOOLS/node_modules/bun/bin/bun.exe" \
    "$ROOT/node_modules/bun/bin/bun.exe"; do
    if [ -n "$candidate" ] && [ -x "$candidate" ] && is_pinned_bun "$candidate" "$version"; then
      BUN="$candidate"
      return
    fi
  done
  if ! have npm; then
    if have brew; then install_packages "npm is missing" node; else install_packages "npm is missing" nodejs npm; fi
  fi
  say "about to install bun $version with npm into .tools/"
  # In a folder of its own, put in place when it is whole: npm does not repair what a set-up that was killed left behind.
  fresh="$TOOLS/bun-$$"
  rm -rf "$TOOLS"/bun-[0-9]*
  mkdir -p "$fresh"
  # Without a package.json of its own, npm would look for one in the folders above.
  printf '{"private": true}\n' >"$fresh/package.json"
  bounded 600 npm install --prefix "$fresh" --no-save --no-audit --no-fund --no-update-notifier --loglevel=error --ignore-scripts=false "bun@$version" >&2 ||
    fail "npm could not install bun $version; its own words are above. Without npm: put a bun $version on PATH"
  if ! is_pinned_bun "$fresh/node_modules/bun/bin/bun.exe" "$version"; then
    # npm was told not to run install scripts: this one puts the binary in place.
    (cd "$fresh/node_modules/bun" && bounded 300 node install.js >&2) || true
  fi
  rm -rf "$TOOLS/node_modules"
  mv "$fresh/node_modules" "$TOOLS/node_modules"
  rm -rf "$fresh"
  BUN="$TOOLS/node_modules/bun/bin/bun.exe"
  is_pinned_bun "$BUN" "$version" || fail "npm installed bun $version, but \"$BUN --version\" does not say so"
}

# Installs what bun.lock names. Takes milliseconds when all of it is there.
ensure_dependencies() {
  [ -d "$ROOT/node_modules" ] || say "about to install the dependencies of bun.lock into node_modules/"
  local output
  output="$(cd "$ROOT" && "$BUN" install --frozen-lockfile 2>&1)" || {
    say "$output"
    fail "\"bun install --frozen-lockfile\" failed: no registry was reached, or package.json and bun.lock disagree"
  }
}
