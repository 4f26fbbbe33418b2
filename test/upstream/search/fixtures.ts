import type { SearchableServer } from "../../../src/upstream/search/tool-search.ts";

type Tool = SearchableServer["tools"][number];

/** A tool with what a test says of it. */
export function tool(
  name: string,
  description = "",
  parameters: Readonly<Record<string, string>> = {},
): Tool {
  const properties = Object.fromEntries(
    Object.entries(parameters).map(([key, text]) => [key, { type: "string", description: text }]),
  );
  return { name, alias: name.replace(/\W/g, "_"), description, inputSchema: { type: "object", properties } };
}

export function server(name: string, description: string, tools: readonly Tool[]): SearchableServer {
  return { name, alias: name.replace(/\W/g, "_"), description, tools };
}

/** A handful of servers of the kinds that people have; descriptions as different in length and language as theirs. */
export const SERVERS: readonly SearchableServer[] = [
  server("filesystem", "Access to files on this computer.", [
    tool("read_file", "Returns the contents of a file as text.", { path: "Where the file is" }),
    tool("write_file", "Creates a file or overwrites it.", {
      path: "Where the file is",
      content: "The new text",
    }),
    tool("list_directory", "Shows what a directory contains.", { path: "The directory" }),
    tool("moveFile", "Renames a file, or puts it elsewhere.", { source: "", destination: "" }),
  ]),
  server("calendar-server", "Appointments and reminders.", [
    tool("create_event", "Adds an appointment to a calendar.", {
      title: "",
      start: "",
      attendees: "Mail addresses",
    }),
    tool("list_events", "Shows the appointments between two days.", { from: "", until: "" }),
    tool("delete_event", "Removes an appointment for good.", { id: "" }),
  ]),
  server("kitchen", "家常菜的做法", [
    tool("getRecipeById", "根据菜谱名称查询菜谱的详情，包括食材和步骤", { id: "" }),
    tool("whatToEat", "根据人数推荐菜品组合", { people: "" }),
  ]),
  server("sky", "Weather of the whole world.", [
    tool("get_forecast", "Temperature, rain and wind of the next days in a city.", { city: "", days: "" }),
    tool("get_air_quality", "How clean the air of a city is.", { city: "" }),
  ]),
  server("desk", "", [
    tool("search", "Finds tickets of the help desk.", { query: "" }),
    tool("close_ticket", "Marks a ticket as solved.", { ticket_id: "" }),
    tool("kitchen_lights_off"),
  ]),
];

/** 120 tools that differ by their names alone, with three among them that someone looks for. */
export function graphServers(): readonly SearchableServer[] {
  const tools = Array.from({ length: 120 }, (_, index) =>
    tool(`graph_tool_${index}`, "get graph entity history"),
  );
  tools[40] = tool("search_graph", "get graph entity history");
  tools[77] = tool("trace_path", "get graph entity history");
  tools[111] = tool("kitchen_lights_off");
  return [server("graph", "", tools)];
}
