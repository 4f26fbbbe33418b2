"""Second call: the variables of the first are still there, so nothing is read again."""

imported = Counter(relation["to"] for relation in graph["relations"])
print("imported most:")
for name, count in sorted(imported.items(), key=lambda item: (-item[1], item[0]))[:5]:
    print(f"  {count:>3}  {name}")
print("longest functions:")
for length, name, function in functions[:5]:
    print(f"  {length:>3}  {function} in {name}")

by_language = Counter()
for name, count in lines.items():
    by_language[name.rpartition(".")[2]] += count
total = await mcp_everything.get_sum(a=by_language["ts"], b=by_language["py"])
calls["everything"] += 1
assert f"is {sum(lines.values())}" in total.text, total.text
print(f"{by_language['ts']} lines of TypeScript and {by_language['py']} of Python; the server says: {total.text}")
print("MCP calls made by the code:", ", ".join(f"{server} {count}" for server, count in sorted(calls.items())))
