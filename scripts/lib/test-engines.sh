# shellcheck shell=bash
# Every engine that this machine can run, made ready for the end-to-end tests. Needs engine.sh; root gets all of them.

TEST_USER="sandpy-test"
TEST_ENGINES="" # "podman=IMAGE podman-rootless=IMAGE podman-gvisor=IMAGE docker=IMAGE", those that work
DOCKERD_PID=""

test_home() { getent passwd "$TEST_USER" | cut -d: -f6; }

# A command as the ordinary user whose podman is rootless, with nothing of root's environment but the test's own.
as_test_user() {
  local uid
  uid="$(id -u "$TEST_USER")"
  runuser -u "$TEST_USER" -- env -i \
    HOME="$(test_home)" USER="$TEST_USER" LANG=C.UTF-8 XDG_RUNTIME_DIR="/run/user/$uid" \
    PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin "$@"
}

# Named like the engine, so that the functions of engine.sh take it for one.
podman-rootless() {
  (cd / && as_test_user podman "$@")
}

# Podman with gVisor in place of the machine's kernel, and with the flag that the product gives it.
podman-gvisor() {
  case "$1" in
    run) podman --runtime runsc --runtime-flag network=none "$@" ;;
    *) podman "$@" ;;
  esac
}

# On Debian as root: the packages that make podman, rootless podman and docker possible, and what the checks call.
install_test_packages() {
  local missing=""
  if ! [ "$(id -u)" -eq 0 ] || ! have apt-get; then return 0; fi
  have python3 || missing="$missing python3"
  have ps || missing="$missing procps"
  have shellcheck || missing="$missing shellcheck"
  have zsh || missing="$missing zsh"
  have fish || missing="$missing fish"
  have mandoc || missing="$missing mandoc"
  have ruby || missing="$missing ruby"
  have podman || missing="$missing podman runc"
  have newuidmap || missing="$missing uidmap"
  have slirp4netns || missing="$missing slirp4netns"
  have fuse-overlayfs || missing="$missing fuse-overlayfs"
  have dockerd || missing="$missing docker.io"
  # For the newest Python, which few releases have.
  if [ -r /usr/share/keyrings/debian-archive-keyring.gpg ]; then
    have debootstrap || missing="$missing debootstrap"
  fi
  # shellcheck disable=SC2086 # a list of package names
  [ -z "$missing" ] || install_packages "the tests run on podman, rootless podman and docker, and in three shells" $missing
  # Newer releases have the client in a package of its own.
  have docker || install_packages "docker.io came without its client" docker-cli
}

# has_browser: what test/e2e/helpers/browser.ts looks for.
has_browser() {
  [ -n "${CHROME_BIN:-}" ] || have chromium || have chromium-browser || have google-chrome || have google-chrome-stable
}

# The browser that the tests of the dashboard drive, on Debian as root. Other systems may not have the package: those tests say
# what they need.
install_browser() {
  if has_browser || ! [ "$(id -u)" -eq 0 ] || ! have apt-get; then return 0; fi
  # In a shell of its own: without a browser all else is still to be tested.
  (install_packages "the tests of the dashboard need a browser" chromium fonts-dejavu-core) ||
    say "no browser: the tests of the dashboard will fail"
}

# gVisor, where the system has it as a package: many have not, and its tests then do not run.
install_gvisor() {
  if have runsc || ! [ "$(id -u)" -eq 0 ] || ! have apt-cache; then return 0; fi
  apt-cache show runsc >/dev/null 2>&1 || return 0
  (install_packages "the tests of isolation run on gVisor too" runsc) || true
}

# The ordinary user with its runtime folder and the overlay driver, which starts ten times as fast as the default one.
prepare_test_user() {
  local uid config
  if ! id "$TEST_USER" >/dev/null 2>&1; then
    say "about to create the user \"$TEST_USER\" for rootless podman"
    useradd --create-home --home-dir "/home/$TEST_USER" --shell /bin/bash "$TEST_USER"
  fi
  grep -qs "^$TEST_USER:" /etc/subuid || usermod --add-subuids 400000-465535 --add-subgids 400000-465535 "$TEST_USER"
  uid="$(id -u "$TEST_USER")"
  config="$(test_home)/.config/containers"
  mkdir -p "/run/user/$uid"
  chown "$TEST_USER:" "/run/user/$uid"
  chmod 700 "/run/user/$uid"
  if ! [ -e "$config/storage.conf" ]; then
    as_test_user mkdir -p "$config"
    printf '[storage]\ndriver = "overlay"\n' | as_test_user tee "$config/storage.conf" >/dev/null
  fi
}

# A daemon of our own where none answers. stop_dockerd ends it; one that was there before stays.
start_dockerd() {
  local tick=0
  if [ "$(id -u)" -ne 0 ] || ! have dockerd || engine_answers docker; then return 0; fi
  say "about to start dockerd"
  dockerd --iptables=false --ip6tables=false --bridge=none >"$REPORTS/dockerd.log" 2>&1 </dev/null &
  DOCKERD_PID=$!
  while [ "$tick" -lt 60 ] && kill -0 "$DOCKERD_PID" 2>/dev/null; do
    if docker info >/dev/null 2>&1; then return 0; fi
    sleep 0.5
    tick=$((tick + 1))
  done
  say "dockerd did not start; its last words:"
  tail -n 5 "$REPORTS/dockerd.log" >&2
}

stop_dockerd() {
  local tick=0
  [ -n "$DOCKERD_PID" ] || return 0
  kill "$DOCKERD_PID" 2>/dev/null || true
  while [ "$tick" -lt 100 ] && kill -0 "$DOCKERD_PID" 2>/dev/null; do
    sleep 0.1
    tick=$((tick + 1))
  done
  kill -9 "$DOCKERD_PID" 2>/dev/null || true
  DOCKERD_PID=""
}

# prepare_test_engines: sets TEST_ENGINES. An engine that cannot run here is named, not an error.
prepare_test_engines() {
  local engine names="podman docker"
  if [ "$(id -u)" -eq 0 ] && [ "$(uname -s)" = Linux ]; then
    names="podman podman-rootless podman-gvisor docker"
    if have podman && have useradd && have runuser; then
      prepare_test_user || say "cannot make the user \"$TEST_USER\" ready for rootless podman"
    fi
    start_dockerd
  fi
  TEST_ENGINES=""
  for engine in $names; do
    if [ "$engine" = podman-gvisor ] && ! have runsc; then
      say "no gVisor here (runsc is not installed): isolation is not tested on it"
    elif engine_works "$engine"; then
      # An ordinary user's podman is the rootless one.
      if [ "$engine" = podman ] && [ "$(id -u)" -ne 0 ]; then engine=podman-rootless; fi
      TEST_ENGINES="$TEST_ENGINES $engine=$IMAGE"
    else
      say "no $engine here: its tests do not run"
    fi
  done
  TEST_ENGINES="${TEST_ENGINES# }"
}
