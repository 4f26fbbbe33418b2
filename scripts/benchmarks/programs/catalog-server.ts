import { readFileSync } from "node:fs";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

/** One server of a catalogue, as a process: it lists the tools that are written there, and answers any call with a word. */

interface Entry {
  readonly name: string;
  readonly tools: { readonly name: string; readonly inputSchema: { readonly type: "object" } }[];
}

const [file = "", name = ""] = process.argv.slice(2);
const entry = (JSON.parse(readFileSync(file, "utf8")) as Entry[]).find((each) => each.name === name);
if (entry === undefined) throw new Error(`no server "${name}" in ${file}`);

const server = new Server({ name, version: "1.0.0" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: entry.tools }));
server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
  content: [{ type: "text" as const, text: `${params.name}: done` }],
}));
await server.connect(new StdioServerTransport());
