"""The manual for a model: `runtime.capability_summary()`, and the host's resource of the same name."""

from __future__ import annotations

MANUAL = """
# run_python

Python in a sandbox: no network, no files of the user. Variables, imports and functions stay from call to call.
Top-level `await` works. The value of the last expression is shown; `print` and `display(image or figure)` too.
Only /workspace, /tmp and /projects (kept) can be written. The user's other MCP servers are reached from the code; a server starts when
it is first used.

## Find

- `runtime.discovered_servers()`: names; with `detailed=True` a line for each
- `await runtime.search_tool_docs("words")`: the tools that fit best, of all servers; `limit=`, `server=`
- `await runtime.query_tool_docs(server)`: a line for each tool
- `await runtime.query_tool_docs(server, tool)`: how to call one; `detail="full"` adds its JSON schemas
- `runtime.describe_server(name)`: one server with its tools
- `await runtime.find_servers("words")`: also servers that are switched off or not usable, and why
- `await runtime.add_server(name)`: makes one usable for this session, where the user permits it

## Call

    r = await mcp_<alias>.<tool>(name=value)
    r = await mcp_servers["name"]["tool"](name=value)
    r = await runtime.call_tool(server, tool, {"name": value})

`r` is the result as a dict, with `r.text`, `r.data` (structured content or parsed JSON) and `r.images`. A failure
raises `MCPError`. Many at once: `await asyncio.gather(*calls)`. Without await: `call.result()`.

## Resources and prompts

- `await runtime.list_resources(server)`, `await runtime.read_resource(server, uri)`: `.text`, `.data`, `.images`
- `await runtime.list_prompts(server)`, `await runtime.get_prompt(server, name, {"argument": "text"})`: `.text`

## Keep beyond the session

- `save_memory(key, value)`, `load_memory(key, default=None)`, `update_memory(key, lambda old: new)`,
  `list_memories()`, `delete_memory(key)`: JSON values; no import, no await
- `save_tool(function)` keeps a function of the session with what it needs; every session then has it under its name,
  and search finds it. `runtime.list_saved_tools()`, `runtime.delete_saved_tool(name)`

Keep large data in variables and print only what you need to see.
"""
