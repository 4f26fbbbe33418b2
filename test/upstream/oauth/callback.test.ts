import { expect, test } from "bun:test";
import { startCallback } from "../../../src/upstream/oauth/callback.ts";

const STATE = "the-state";
const start = () => startCallback({ state: STATE, ports: [0], host: "127.0.0.1" });

test.each([
  ["another path", (url: string) => fetch(`${url}/more?state=${STATE}&code=1`), 404],
  ["another method", (url: string) => fetch(`${url}?state=${STATE}&code=1`, { method: "POST" }), 404],
  ["no state", (url: string) => fetch(`${url}?code=1`), 400],
  ["another state", (url: string) => fetch(`${url}?state=the-stat&code=1`), 400],
  [
    "a name that was bent to this machine",
    (url: string) => fetch(`${url}?state=${STATE}&code=1`, { headers: { host: "evil.example" } }),
    404,
  ],
])("does not take an answer with %s, and still waits", async (_case, ask, status) => {
  await using callback = start();

  const response = await ask(callback.redirectUrl);
  expect(response.status).toBe(status);
  await fetch(`${callback.redirectUrl}?state=${STATE}&code=right`);

  expect((await callback.arrived).get("code")).toBe("right");
});

test("shows nothing of what it was sent, takes one answer, and is gone afterwards", async () => {
  const callback = start();
  const evil = encodeURIComponent("<script>alert(1)</script>");

  const response = await fetch(
    `${callback.redirectUrl}?state=${STATE}&error=access_denied&error_description=${evil}`,
  );
  const page = await response.text();
  const second = await fetch(`${callback.redirectUrl}?state=${STATE}&code=late`);

  expect(page).not.toContain("script");
  expect(response.headers.get("content-security-policy")).toBe("default-src 'none'");
  expect(second.status).toBe(400);
  expect((await callback.arrived).get("error")).toBe("access_denied");
  await callback[Symbol.asyncDispose]();
  expect(await fetch(callback.redirectUrl).catch((error: { code: string }) => error.code)).toBe(
    "ECONNREFUSED",
  );
});

test("takes the next port where one is in use, and says so where none is free", async () => {
  await using taken = start();
  const port = Number(new URL(taken.redirectUrl).port);

  await using next = startCallback({ state: STATE, ports: [port, 0], host: "localhost" });

  expect(new URL(next.redirectUrl).hostname).toBe("localhost");
  expect(() => startCallback({ state: STATE, ports: [port], host: "localhost" })).toThrow(
    `port ${port} of this machine is in use by another program`,
  );
});
