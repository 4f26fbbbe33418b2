# shellcheck shell=bash
# The whole set-up, for scripts that need it before their own work. Source it; then call set_up.

# shellcheck source=scripts/lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=scripts/lib/bun.sh
. "$ROOT/scripts/lib/bun.sh"
# shellcheck source=scripts/lib/engine.sh
. "$ROOT/scripts/lib/engine.sh"

# Sets BUN, ENGINE and IMAGE; exports MCP_BRIDGE_RUNTIME and MCP_BRIDGE_IMAGE. Safe to call again and again.
set_up() {
  ensure_bun
  ensure_dependencies
  ensure_engine
}
