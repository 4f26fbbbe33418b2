# shellcheck shell=bash
# Container engines and the image that sandboxes run. Needs common.sh.
#
# An engine "works" when the current user can really run a container of the image with it, nothing less.

DEFAULT_IMAGE="python:3.14-slim"
HOST_IMAGE="localhost/sandpy-python:host"
HOST_PACKER="$ROOT/sandbox/image/pack_host.py"

# Seconds for a pull. Where the image can be built from this machine's own Python instead, waiting long has no point.
if [ "$(uname -s)" = Linux ]; then PULL_SECONDS=60; else PULL_SECONDS=900; fi

engine_answers() {
  have "$1" && bounded 20 "$1" info >/dev/null 2>&1
}

# engine_run ENGINE IMAGE COMMAND…: one container without network. Explicit ulimits, because the engine's own defaults can
# be above what it may set here; and runc where the default OCI runtime does not start (crun on hybrid cgroups).
engine_run() {
  local engine=$1 image=$2 files
  shift 2
  files="$(ulimit -Hn)"
  case "$files" in *[!0-9]*) files=1024 ;; esac
  [ "$files" -le 1024 ] || files=1024
  set -- --rm --network none --ulimit "nofile=$files:$files" --ulimit nproc=512:512 "$image" "$@"
  if bounded 60 "$engine" run "$@" 2>/dev/null; then return 0; fi
  [ "${engine%-rootless}" = podman ] && have runc && bounded 60 "$engine" --runtime runc run "$@" 2>/dev/null
}

image_runs() {
  [ "$(engine_run "$1" "$2" python3 -I -c 'print("sandpy" + "-ok")')" = "sandpy-ok" ]
}

has_image() {
  "$1" image inspect "$2" >/dev/null 2>&1
}

# Writes the root file system of this machine's Python and prints the file's path; packs only when it would change. For
# engines that the product cannot reach from here: those of another user.
host_image_tar() {
  local fingerprint tar
  fingerprint="$(host_image_fingerprint)" || return 1
  tar="$TOOLS/host-image-$fingerprint.tar"
  if [ ! -f "$tar" ]; then
    say "about to pack this machine's own Python for an image (no registry gave $DEFAULT_IMAGE)"
    mkdir -p "$TOOLS"
    rm -f "$TOOLS"/host-image-*.tar
    python3 "$HOST_PACKER" --output "$tar" || return 1
  fi
  printf '%s\n' "$tar"
}

host_image_fingerprint() {
  [ "$(uname -s)" = Linux ] && have python3 && python3 "$HOST_PACKER" --fingerprint
}

# has_host_image ENGINE FINGERPRINT [IMAGE]
has_host_image() {
  local label
  label="$("$1" image inspect --format '{{index .Config.Labels "io.sandpy.fingerprint"}}' "${3:-$HOST_IMAGE}" 2>/dev/null)" &&
    [ "$label" = "$2" ]
}

# import_host_image ENGINE FINGERPRINT [IMAGE] < TAR
import_host_image() {
  local output old image="${3:-$HOST_IMAGE}"
  old="$("$1" image inspect --format '{{.Id}}' "$image" 2>/dev/null || true)"
  output="$("$1" import --change "LABEL io.sandpy.fingerprint=$2" --change "ENV LANG=C.UTF-8" - "$image" 2>&1)" || {
    say "$1 could not import the image: $output"
    return 1
  }
  # The one that it replaces; an image in use stays.
  [ -z "$old" ] || "$1" rmi "$old" >/dev/null 2>&1 || true
}

# prepare_image ENGINE: makes an image ready in this engine and sets IMAGE to its name. MCP_BRIDGE_IMAGE chooses it.
prepare_image() {
  local engine=$1 fingerprint tar
  IMAGE="${MCP_BRIDGE_IMAGE:-$DEFAULT_IMAGE}"
  if [ "$IMAGE" != "$HOST_IMAGE" ] && has_image "$engine" "$IMAGE"; then return 0; fi
  fingerprint="$(host_image_fingerprint || true)"
  case "$IMAGE" in
    "$DEFAULT_IMAGE" | "$HOST_IMAGE")
      if [ -n "$fingerprint" ] && has_host_image "$engine" "$fingerprint"; then
        IMAGE="$HOST_IMAGE"
        return 0
      fi
      ;;
  esac
  if [ "$IMAGE" != "$HOST_IMAGE" ]; then
    say "about to pull $IMAGE with $engine (at most $PULL_SECONDS s)"
    if bounded "$PULL_SECONDS" "$engine" pull "$IMAGE" >/dev/null 2>&1; then return 0; fi
    [ "$IMAGE" = "$DEFAULT_IMAGE" ] || return 1
  fi
  if [ -z "$fingerprint" ]; then
    say "$engine could not pull $DEFAULT_IMAGE, and without python3 (3.9 or newer) no image can be built here"
    return 1
  fi
  IMAGE="$HOST_IMAGE"
  build_host_image "$engine" "$fingerprint"
}

# build_host_image ENGINE FINGERPRINT: as the product does; another user's engine is given the tar.
build_host_image() {
  local tar
  if [ "$1" = podman-rootless ]; then
    tar="$(host_image_tar)" || return 1
    import_host_image "$1" "$2" <"$tar"
    return
  fi
  say "about to build $HOST_IMAGE of this machine's own Python with $1 (no registry gave $DEFAULT_IMAGE)"
  MCP_BRIDGE_RUNTIME="$1" MCP_BRIDGE_LOG_LEVEL=ERROR "$BUN" "$ROOT/src/main.ts" image build --from-host >&2
}

# engine_works ENGINE: sets IMAGE when the current user can run a container with it.
engine_works() {
  engine_answers "$1" && prepare_image "$1" && image_runs "$1" "$IMAGE"
}

# The engines to try, in the product's own order.
wanted_engines() {
  case "${MCP_BRIDGE_RUNTIME:-auto}" in
    auto) printf 'podman docker\n' ;;
    *) printf '%s\n' "$MCP_BRIDGE_RUNTIME" ;;
  esac
}

# Sets ENGINE and IMAGE to the first engine that works.
find_engine() {
  local engine
  for engine in $(wanted_engines); do
    if engine_works "$engine"; then
      ENGINE="$engine"
      return 0
    fi
  done
  return 1
}

install_engine() {
  case "$(uname -s)" in
    Darwin)
      have brew || fail "no container engine works here: install Podman or Docker Desktop, start it, and try again"
      have podman || install_packages "no container engine works here" podman
      say "about to start a podman machine"
      podman machine inspect >/dev/null 2>&1 || podman machine init >&2
      podman machine start >&2 || true
      ;;
    *)
      if have apt-get; then
        install_packages "no container engine works here" podman runc uidmap slirp4netns fuse-overlayfs
      elif have dnf; then
        install_packages "no container engine works here" podman
      else
        fail "no container engine works here: install Podman or Docker for this system, and try again"
      fi
      ;;
  esac
}

# Makes sure that one engine works, installing Podman where none does. Exports what the product is to use.
ensure_engine() {
  if ! find_engine; then
    explain_engines
    install_engine
    if ! find_engine; then
      explain_engines
      fail "no container engine runs a container for this user"
    fi
  fi
  export MCP_BRIDGE_RUNTIME="$ENGINE" MCP_BRIDGE_IMAGE="$IMAGE"
}

# Shows the own words of each engine that is installed and does not work.
explain_engines() {
  local engine words
  for engine in $(wanted_engines); do
    have "$engine" || continue
    if ! words="$("$engine" info 2>&1)"; then
      say "$engine does not answer: $(printf '%s\n' "$words" | tail -n 2)"
    elif has_image "$engine" "${IMAGE:-$DEFAULT_IMAGE}"; then
      words="$("$engine" run --rm --network none "${IMAGE:-$DEFAULT_IMAGE}" python3 -c '' 2>&1 </dev/null)" ||
        say "$engine runs no container: $(printf '%s\n' "$words" | tail -n 2)"
    else
      say "$engine has no image ${IMAGE:-$DEFAULT_IMAGE}"
    fi
  done
}
