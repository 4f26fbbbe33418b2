import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { createHostSession } from "../helpers/host-session.ts";
import { argumentsOf } from "../helpers/schema-values.ts";
import { createRig, define } from "../upstream/harness.ts";

interface Tool {
  readonly name: string;
  readonly inputSchema: unknown;
}

const SEED = 527;
const RUNS = 5;
const SERVER = join(import.meta.dir, "../fixtures/servers/catalogue-server.py");
/** 70 real servers with 527 tools; it is not part of the repository. */
const LIVEMCP = join(import.meta.dir, "../../../shared/livemcp/catalog.json");
const ODD = join(import.meta.dir, "../fixtures/servers/odd-tools.json");

const folder = mkdtempSync(join(tmpdir(), "sandpy-catalogue-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Calls every tool with each of its arguments by the names that its signature shows, which stand in the order of the
 * schema or, where Python could not write that, with those first that must be. Returns what is wrong.
 */
const CHECK = `
import inspect, json, typing
wrong = []
for name, schema, runs in cases:
    tool = server[name]
    alias = tool.__doc__.partition("(")[0].rpartition(".")[2]
    original = list(schema.get("properties") or {})
    required = [each for each in original if each in (schema.get("required") or [])]
    shown = [each for each, p in inspect.signature(tool).parameters.items() if p.kind is not p.VAR_KEYWORD]
    order = original if required == original[: len(required)] else sorted(original, key=lambda each: each not in required)
    names = dict(zip(order, shown))
    if len(names) != len(original) or set(typing.get_type_hints(tool)) != {*shown, "return"}:
        wrong.append([name, "documentation", shown])
    compile(f"def {alias}({', '.join(['*', *shown]) if shown else ''}): pass", "signature", "exec")
    for arguments in runs:
        try:
            result = await getattr(server, alias)(**{names[each]: value for each, value in arguments.items()})
        except Exception as error:
            wrong.append([name, arguments, repr(error)])
            continue
        expected = {"tool": name, "arguments": arguments}
        if json.loads(result.text) != expected or result.data != expected:
            wrong.append([name, arguments, result.text])
wrong[:5], sum(len(runs) for _, _, runs in cases)`;

async function check(tools: readonly Tool[]): Promise<string | null | undefined> {
  const file = join(folder, "tools.json");
  await Bun.write(file, JSON.stringify(tools));
  await using rig = createRig([define("catalogue", { command: "python3", args: [SERVER, file] })]);
  await using session = createHostSession({
    tools: rig.upstream,
    maxOutputChars: 10_000,
  });
  const cases = tools.map(({ name, inputSchema }) => [
    name,
    inputSchema,
    fc.sample(argumentsOf(inputSchema), { seed: SEED, numRuns: RUNS }),
  ]);
  const code = `import json\ncases = json.loads(${JSON.stringify(JSON.stringify(cases))})\nserver = mcp_catalogue\n${CHECK}`;
  const outcome = await session.execute(
    { code, servers: [], timeoutMs: 50_000 },
    new AbortController().signal,
  );
  expect(outcome.error ?? null).toBeNull();
  return outcome.result;
}

test("the odd tools of a fixture take what was generated from their schemas, unchanged", async () => {
  const tools: readonly Tool[] = await Bun.file(ODD).json();
  expect(await check(tools)).toBe(`([], ${tools.length * RUNS})`);
});

const hasLivemcp = existsSync(LIVEMCP);
if (!hasLivemcp)
  process.stderr.write("the catalogue of 527 real tools is not here: only the fixture's are tried\n");

test.skipIf(!hasLivemcp)("527 real tools take what was generated from their schemas, unchanged", async () => {
  const servers: readonly { readonly tools: readonly Tool[] }[] = await Bun.file(LIVEMCP).json();
  const batches: Map<string, Tool>[] = [];
  for (const tool of servers.flatMap((server) => server.tools)) {
    let batch = batches.find((each) => !each.has(tool.name));
    if (batch === undefined) {
      batch = new Map();
      batches.push(batch);
    }
    batch.set(tool.name, tool);
  }
  let count = 0;
  for (const batch of batches) {
    expect(await check([...batch.values()])).toBe(`([], ${batch.size * RUNS})`);
    count += batch.size;
  }
  expect(count).toBe(527);
});
