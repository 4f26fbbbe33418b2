import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

/** The upstream server of the benches, made with an SDK that the product does not use: it gives back, makes up, or takes text. */

const LINE = "The quick brown fox jumps over the lazy dog, 0123456789.\n";

const server = new Server({ name: "bench", version: "1.0.0" }, { capabilities: { tools: {} } });
const tool = (name: string, property: string, type: string) => ({
  name,
  inputSchema: { type: "object", properties: { [property]: { type } }, required: [property] },
});
server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: [tool("echo", "text", "string"), tool("make", "bytes", "integer"), tool("take", "text", "string")],
}));
server.setRequestHandler(CallToolRequestSchema, ({ params: { name, arguments: args = {} } }) => {
  const given = String(args["text"] ?? "");
  if (name === "echo") return answer(given);
  if (name === "take") return answer(String(given.length));
  const bytes = Number(args["bytes"]);
  return answer(LINE.repeat(Math.ceil(bytes / LINE.length)).slice(0, bytes));
});
await server.connect(new StdioServerTransport());

function answer(text: string) {
  return { content: [{ type: "text" as const, text }] };
}
