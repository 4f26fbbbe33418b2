import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createRig, define, faultOf, type Rig, scripted, soon } from "./harness.ts";

const EVERYTHING = join(
  import.meta.dir,
  "../../node_modules/@modelcontextprotocol/server-everything/dist/index.js",
);

describe("the resources and prompts of a real server", () => {
  let rig: Rig;
  beforeAll(() => {
    rig = createRig([define("every-thing", { args: [EVERYTHING] })]);
  });
  afterAll(() => rig[Symbol.asyncDispose]());

  test("are listed, templates apart", async () => {
    const { resources, templates, complete } = await rig.upstream.listResources("every_thing", soon());
    expect([resources.length > 2, templates.length > 0, complete]).toEqual([true, true, true]);
    expect(Object.keys(resources[0] ?? {})).toContain("uri");
    expect(templates[0]?.["uriTemplate"]).toStartWith("demo://");
  });

  test("are read as the server gives them", async () => {
    const uri = "demo://resource/dynamic/text/1";
    const { contents } = await rig.upstream.readResource("every-thing", uri, soon());
    expect(contents).toMatchObject([{ uri, mimeType: "text/plain", text: expect.any(String) }]);
  });

  test("are filled in with arguments", async () => {
    const { prompts } = await rig.upstream.listPrompts("every-thing", soon());
    expect(prompts.map((prompt) => prompt["name"])).toContain("args-prompt");
    const request = {
      server: "every-thing",
      prompt: "args-prompt",
      arguments: { city: "Lyon", state: "ARA" },
    };
    expect(JSON.stringify(await rig.upstream.getPrompt(request, soon()))).toContain("Lyon");
  });

  test.each([
    ["a resource that is not there", () => rig.upstream.readResource("every-thing", "demo://none", soon())],
    [
      "a prompt that is not there",
      () => rig.upstream.getPrompt({ server: "every-thing", prompt: "none", arguments: {} }, soon()),
    ],
    [
      "a prompt without its arguments",
      () => rig.upstream.getPrompt({ server: "every-thing", prompt: "args-prompt", arguments: {} }, soon()),
    ],
  ])("are refused with the server's words: %s", async (_title, ask) => {
    const { code, message } = await faultOf(ask());
    expect(code).toBe("UPSTREAM_FAILED");
    expect(message).toMatch(/of server "every-thing" was refused: .+ \(JSON-RPC error -3260\d\)/);
  });
});

describe("a server that is not to be trusted with lists", () => {
  const entries = (count: number) => Array.from({ length: count }, (_, at) => ({ uri: `x:${at}` }));

  test.each([
    ["no such capability", { tools: {} }, [0, true]],
    ["a list that never ends", { resources: entries(3), cursor: "endless" as const }, [3, false]],
    ["a page that names itself", { resources: entries(3), cursor: "same" as const }, [3, false]],
    ["more than anybody reads", { manyResources: { count: 10_001, size: 0 } }, [10_000, false]],
    ["more bytes than fit", { manyResources: { count: 10, size: 1024 ** 2 } }, [7, false]],
    ["pages", { resources: entries(5), pageSize: 2 }, [5, true]],
    [
      "what is no resource",
      { resources: [1, null, { name: "x" }, { uri: 3 }, ...entries(1), ...entries(1)] },
      [1, true],
    ],
  ])("has %s", async (_title, script, expected) => {
    await using rig = createRig([scripted("fx", script)]);
    const { resources, complete } = await rig.upstream.listResources("fx", soon());
    expect([resources.length, complete]).toEqual(expected);
  });

  test("stops being asked when the caller does not want it any more", async () => {
    await using rig = createRig([scripted("fx", { resources: [], mute: ["resources/list"] })]);
    const stop = new AbortController();
    await rig.upstream.connect("fx", soon());
    const asked = faultOf(rig.upstream.listResources("fx", stop.signal));
    stop.abort();
    expect((await asked).code).toBe("CANCELLED");
  });
});
