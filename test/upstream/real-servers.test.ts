import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRig, define, type Rig, soon } from "./harness.ts";

const PACKAGES = join(import.meta.dir, "../../node_modules/@modelcontextprotocol");

/** Servers that people use, as they come from npm. */
describe("the reference servers", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "sandpy-servers-")));
  let rig: Rig;

  beforeAll(() => {
    const run = (name: string, ...args: string[]) => ({
      args: [join(PACKAGES, name, "dist/index.js"), ...args],
    });
    rig = createRig([
      define("files", run("server-filesystem", folder)),
      define("memory", { ...run("server-memory"), env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") } }),
      define("everything", run("server-everything")),
    ]);
  });
  afterAll(async () => {
    await rig.upstream.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const call = (server: string, tool: string, args: Record<string, unknown>) =>
    rig.upstream.callTool({ server, tool, arguments: args }, soon());

  test("write and read files", async () => {
    const path = join(folder, "note.txt");
    await call("files", "write_file", { path, content: "grüße\n" });

    const result = await call("files", "read_text_file", { path });

    expect(result).toMatchObject({ content: [{ type: "text", text: "grüße\n" }] });
  });

  test("keep a graph, shared by all calls", async () => {
    const entities = [{ name: "Ada", entityType: "person", observations: ["writes programs"] }];
    await call("memory", "create_entities", { entities });

    const result = await call("memory", "search_nodes", { query: "Ada" });

    expect(result["structuredContent"]).toMatchObject({ entities });
  });

  test("answer with text, images and structure", async () => {
    expect(await call("everything", "get_sum", { a: 1, b: 2 })).toEqual({
      content: [{ type: "text", text: "The sum of 1 and 2 is 3." }],
    });
    const image = await call("everything", "get-tiny-image", {});
    expect(image["content"]).toContainEqual(
      expect.objectContaining({ type: "image", mimeType: "image/png" }),
    );
    const weather = await call("everything", "get-structured-content", { location: "New York" });
    expect(weather["structuredContent"]).toHaveProperty("temperature");
  });

  test("do not see the environment of the bridge", async () => {
    const result = (await call("everything", "get-env", {})) as { content: { text: string }[] };

    expect(Object.keys(JSON.parse(result.content[0]?.text ?? "{}")).sort()).toEqual(["HOME", "PATH"]);
  });

  test("say what is wrong with the arguments", async () => {
    const result = await call("everything", "get-sum", { a: "one" });

    expect(result["isError"]).toBe(true);
  });
});
