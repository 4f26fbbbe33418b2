import { GENERIC } from "../dialects.ts";
import { ANY_SHAPE } from "../layouts.ts";
import { AGENTS } from "./agents.ts";
import { EDITORS } from "./editors.ts";
import type { ClientRow } from "./row.ts";

/** The name under which our own files stand in listings. */
export const OWN_CLIENT = "sandpy";

/** Files that belong to no client. */
const OWN: readonly ClientRow[] = [
  {
    client: OWN_CLIENT,
    paths: ["<state>/*.{json,jsonc,toml,yaml,yml}"],
    layout: ANY_SHAPE,
    dialect: GENERIC,
    isBare: true,
  },
  {
    client: "generic",
    paths: [
      "./mcp-servers/*.json",
      "./{mcp,mcp-servers}.json",
      "<xdg>/mcp/servers/*.json",
      "<xdg>/mcp/{mcp,servers}.json",
    ],
    layout: ANY_SHAPE,
    dialect: GENERIC,
    isBare: true,
  },
];

/**
 * Every place where servers are looked for. The order of the rows of one client, and of the paths of a row, is the
 * precedence within that client. To add a client, add its row here and a home under `test/fixtures/homes`.
 */
export const CLIENTS: readonly ClientRow[] = [...OWN, ...AGENTS, ...EDITORS];
