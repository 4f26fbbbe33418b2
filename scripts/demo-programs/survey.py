"""First call: read every source file through one MCP server, measure, and keep the result in another."""

import ast
import asyncio
import posixpath
import re
from collections import Counter, defaultdict

calls = Counter()

# Where the files are: the server itself says what it may read.
root = (await mcp_filesystem.list_allowed_directories()).text.splitlines()[-1].strip()
wanted = [("src", "ts"), ("sandbox", "py"), ("scripts", "ts"), ("scripts", "py"), ("test", "ts"), ("test", "py")]
listings = await asyncio.gather(
    *(mcp_filesystem.search_files(path=f"{root}/{folder}", pattern=f"**/*.{ending}") for folder, ending in wanted)
)
paths = sorted({line for listing in listings for line in listing.text.splitlines() if line.startswith("/")})
texts = await asyncio.gather(*(mcp_filesystem.read_text_file(path=path) for path in paths))
sources = {posixpath.relpath(path, root): result.text for path, result in zip(paths, texts)}
calls["filesystem"] += 1 + len(wanted) + len(paths)


def functions_of(name, source):
    """(length in lines, file, function) of each function."""
    if name.endswith(".py"):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.end_lineno - node.lineno + 1, name, node.name
        return
    lines = source.splitlines()
    # A function, or a method of a class.
    head = re.compile(
        r"( *)(?:export )?(?:async )?function\*? (\w+)"
        r"|( {2})(?:(?:private|static|override|async|get|set) )*(#?\w+)\([^\"'`]*\)(?:: [^=]+)? \{$"
    )
    for start, line in enumerate(lines):
        match = head.match(line)
        if not match or match[4] in {"if", "for", "while", "switch", "catch"}:
            continue
        last = (match[1] or match[3] or "") + "}"
        end = next((at for at in range(start, len(lines)) if lines[at].rstrip(",;") == last), start)
        yield end - start + 1, name, match[2] or match[4]


def imports_of(name, source):
    """The files of this repository that a file imports."""
    folder = posixpath.dirname(name)
    if name.endswith(".py"):
        modules = re.findall(r"^ *(?:from|import) \.?(\w+)", source, re.MULTILINE)
        found = {f"{folder}/{module}.py" for module in modules}
    else:
        relative = re.findall(r'(?:from|import) "(\.[^"]+)"', source)
        found = {posixpath.normpath(f"{folder}/{target}") for target in relative}
    return sorted((found & sources.keys()) - {name})


def room_of(name):
    """src/core/log.ts -> src/core"""
    return "/".join(name.split("/")[:2]) if name.count("/") > 1 else name.split("/")[0]


lines = {name: len(source.splitlines()) for name, source in sources.items()}
functions = sorted((entry for name, source in sources.items() for entry in functions_of(name, source)), reverse=True)
imports = {name: imports_of(name, source) for name, source in sources.items()}

entities = [
    {"name": name, "entityType": "source file", "observations": [f"{lines[name]} lines", f"room {room_of(name)}"]}
    for name in sorted(sources)
]
relations = [
    {"from": name, "to": target, "relationType": "imports"} for name in sorted(imports) for target in imports[name]
]
await mcp_memory.create_entities(entities=entities)
await mcp_memory.create_relations(relations=relations)
graph = (await mcp_memory.read_graph()).data
calls["memory"] += 3


def unordered(items):
    return sorted(repr(sorted(item.items())) for item in items)


assert unordered(graph["entities"]) == unordered(entities), "the entities came back changed"
assert unordered(graph["relations"]) == unordered(relations), "the relations came back changed"

# The table comes from what the memory server gave back.
rooms = defaultdict(Counter)
for entity in graph["entities"]:
    room = rooms[room_of(entity["name"])]
    room["files"] += 1
    room["lines"] += int(entity["observations"][0].split()[0])
for relation in graph["relations"]:
    rooms[room_of(relation["from"])]["imports"] += 1
longest = {}
for length, name, function in functions:
    rooms[room_of(name)]["functions"] += 1
    longest.setdefault(room_of(name), f"{function} ({length})")

print(f"{'room':<24}{'files':>6}{'lines':>8}{'functions':>11}{'imports':>9}  longest function (lines)")
for name, room in sorted(rooms.items()):
    numbers = f"{room['files']:>6}{room['lines']:>8}{room['functions']:>11}{room['imports']:>9}"
    print(f"{name:<24}{numbers}  {longest.get(name, '-')}")
print(f"{'all':<24}{len(sources):>6}{sum(lines.values()):>8}{len(functions):>11}{len(relations):>9}")
