import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "puppeteer-core";
import { startBrowser, type TestBrowser, type WatchedPage } from "./helpers/browser.ts";
import { until } from "./helpers/engine.ts";
import { createHome, type TestHome } from "./helpers/home.ts";
import { memoryServer } from "./helpers/npm-servers.ts";
import { ADA, BOB, type Served, startServed, writeTokens } from "./helpers/served.ts";

/** Where pictures go, for `docs/`; absent: none are taken. */
const PICTURES = process.env["SANDPY_SCREENSHOTS"];
const PHONE = [360, 740] as const;

const HOSTILE = String.raw`
print("<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>")
print("\x1b[31mred\x1b[0m \x1b]0;title\x07 \u202e end of colours")
`;
const ENDLESS = `
import time
ticks = 0
while True:
    ticks += 1
    print("tick", ticks, flush=True)
    time.sleep(0.2)
`;

let home: TestHome;
let served: Served;
let browser: TestBrowser;

beforeAll(async () => {
  home = createHome();
  home.defineServers({
    notes: memoryServer(home),
    broken: { command: "no-such-program" },
  });
  const tokens = writeTokens(home);
  [served, browser] = await Promise.all([
    startServed(home, ["--dashboard", "--admin", "bob", "--token-file", tokens]),
    startBrowser(),
  ]);
});

afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await served?.[Symbol.asyncDispose]();
  home?.[Symbol.dispose]();
});

async function signIn({ page }: WatchedPage, token: string, origin = served.origin): Promise<void> {
  await page.goto(origin);
  await page.type("input[name=token]", token);
  await Promise.all([page.waitForNavigation(), page.click("button")]);
}

const textOf = (page: Page, selector = "body"): Promise<string> =>
  page.$$eval(selector, (all) =>
    // biome-ignore lint/performance/useDomNodeTextContent: what is hidden does not count.
    (all as { innerText?: string }[]).map(({ innerText }) => innerText).join("\n"),
  );

/** Waits until the page says it by itself, without being loaded again. */
function shows(page: Page, text: string | RegExp, selector = "body"): Promise<void> {
  const isThere = async () => {
    const shown = await textOf(page, selector).catch(() => ""); // it may be on its way to the next page
    return typeof text === "string" ? shown.includes(text) : text.test(shown);
  };
  return until(`the page shows ${text}`, isThere, 20_000);
}

const inPage = <T>(page: Page, expression: string): Promise<T> => page.evaluate(expression) as Promise<T>;
/** What a browser does to a page behind another one. */
const setHidden = (page: Page, isHidden: boolean) =>
  page.evaluate(
    `Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true });` +
      'document.dispatchEvent(new Event("visibilitychange"))',
  );
const isTooWide = (page: Page) =>
  inPage<boolean>(page, "document.documentElement.scrollWidth > document.documentElement.clientWidth");

describe("the dashboard in a browser", () => {
  test("shows what runs as it runs, and stops it", async () => {
    await using desktop = await browser.open(1200, 900);
    const { page, faults } = desktop;
    await signIn(desktop, "not-a-token-of-anybody");
    await shows(page, "Not signed in");
    faults.length = 0; // the refusal itself is one to the browser
    await signIn(desktop, ADA);
    await shows(page, "No session is open.");
    await shows(page, "Live");

    await using ada = await served.connect(ADA);
    expect(await ada.python(`${HOSTILE}\nawait mcp_notes.read_graph()`)).toBe("success");
    await shows(page, "<script>window.hacked = 1</script><img", "pre.output");
    await shows(page, "red  \\u{202e} end of colours", "pre.output");
    await shows(page, /ok, \d/, ".session");
    await shows(page, /notes \/ read_graph/, "#calls");
    await shows(page, /connected\s+notes/, "#servers");
    expect(await inPage(page, "window.hacked === undefined")).toBe(true);

    const running = ada.python(ENDLESS);
    await shows(page, /tick \d/, "pre.output");
    await shows(page, /running/, ".session .state");
    await shows(page, /Memory\s+\d+ MiB/, ".facts");
    await page.click("button.interrupt");
    await shows(page, "The running code was interrupted.", "#note");
    expect(await running).toBe("cancelled");
    await shows(page, /cancelled, /, ".session");
    expect(await ada.python("print('still', ticks > 0)")).toBe("success");
    await shows(page, "still True", "pre.output");

    await setHidden(page, true);
    await shows(page, "Paused", "#live");
    expect(await ada.python("print('unseen')")).toBe("success");
    expect(await textOf(page, "pre.output")).not.toContain("unseen");
    await setHidden(page, false);
    await shows(page, "unseen", "pre.output");

    await page.click("details[id$=-reset] > summary");
    await page.click("details[id$=-reset] button");
    await shows(page, "The session has a fresh Python.", "#note");
    expect(await ada.python("print('ticks' in globals())")).toBe("success");
    await shows(page, "False", "pre.output");

    await page.focus("details[id$=-end] > summary");
    await page.keyboard.press("Enter");
    await page.waitForSelector("details[id$=-end] button", { visible: true });
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await shows(page, "No session is open.");
    expect(await ada.text("print('ticks' in globals())")).toContain("The session was ended.");
    await shows(page, "False", "pre.output");
    expect(faults).toEqual([]);

    // Even markup that got into the page could do nothing.
    const markup = "<img src='data:,' onerror='window.hacked = 1'>";
    await page.evaluate(`document.body.insertAdjacentHTML("beforeend", ${JSON.stringify(markup)})`);
    await until("the policy forbids it", () =>
      faults.some((fault) => /Content.Security.Policy/i.test(fault)),
    );
    expect(await inPage(page, "window.hacked === undefined")).toBe(true);
  });

  test("is whole on a phone without scripts, and shows callers their own alone", async () => {
    await using phone = await browser.open(...PHONE, "dark");
    const { page, faults } = phone;
    await page.setJavaScriptEnabled(false);
    await using ada = await served.connect(ADA);
    await using bob = await served.connect(BOB);
    await bob.python("bobs = 1");
    const running = ada.python(`word = "w" * 500\nprint(word)${ENDLESS}`);
    await signIn(phone, ADA);
    await until("the page shows the loop", async () => {
      await page.reload();
      return (await textOf(page, "pre.output")).includes("tick");
    });
    expect(await textOf(page)).not.toContain("bobs");
    expect(await isTooWide(page)).toBe(false);
    await Promise.all([page.waitForNavigation(), page.click("button.interrupt")]);
    expect(await textOf(page, "#note")).toContain("interrupted");
    expect(await running).toBe("cancelled");

    await using other = await browser.open(...PHONE, "dark");
    await signIn(other, BOB);
    await shows(other.page, "bobs = 1", "pre.code");
    await shows(other.page, /Caller\s+ada/, ".facts");
    expect(await isTooWide(other.page)).toBe(false);
    await Promise.all([other.page.waitForNavigation(), other.page.click("header form button")]);
    await shows(other.page, "Token");
    expect([...faults, ...other.faults]).toEqual([]);
  });

  test("comes back by itself when the server does, and asks who is there", async () => {
    const flags = ["--dashboard"];
    const env = { MCP_BRIDGE_HTTP_TOKEN: `ada:${ADA}` };
    await using watched = await browser.open(...PHONE);
    const { page } = watched;
    let port: string;
    {
      await using first = await startServed(home, flags, env);
      port = new URL(first.origin).port;
      await signIn(watched, ADA, first.origin);
      await shows(page, "Live", "#live");
    }
    await shows(page, "Not connected; trying again …", "#live");
    await using _second = await startServed(home, [...flags, "--port", port], env);
    await shows(page, "Token"); // what it knew of the browser went with it
  });

  test.if(PICTURES !== undefined)("has its pictures taken", async () => {
    const folder = PICTURES ?? "";
    await using ada = await served.connect(ADA);
    await using bob = await served.connect(BOB);
    await bob.python(ENTITIES);
    await bob.python(
      "import csv, io\nrows = list(csv.reader(io.StringIO('a,b\\n1,2\\n3,x')))\nsum(int(b) for _, b in rows[1:])",
    );
    await ada.python("await mcp_broken.nothing()").catch(() => undefined);
    const running = ada.python(PRIMES);
    await using desktop = await browser.open(1100, 780);
    await signIn(desktop, BOB);
    await shows(desktop.page, /from 400000/, "pre.output");
    await desktop.page.screenshot({ path: join(folder, "dashboard.png") });
    await using phone = await browser.open(...PHONE, "dark");
    await signIn(phone, ADA);
    await shows(phone.page, /from 500000/, "pre.output");
    await phone.page.screenshot({ path: join(folder, "dashboard-phone.png") });
    await phone.page.click("button.interrupt");
    await running;
  });
});

const ENTITIES = `
people = ["Ada Lovelace", "Grace Hopper", "Mary Jackson"]
await mcp_notes.create_entities(entities=[
    {"name": name, "entityType": "person", "observations": ["wrote programs"]} for name in people
])
graph = await mcp_notes.read_graph()
print(len(graph["entities"]), "entities")
for name in people:
    found = await mcp_notes.search_nodes(query=name)
    print(name, "->", len(found["entities"]))
`;
const PRIMES = `
import time

def is_prime(n):
    return n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1))

for start in range(0, 10_000_000, 100_000):
    count = sum(map(is_prime, range(start, start + 2_000)))
    print(f"{count} primes from {start}", flush=True)
    time.sleep(0.5)
`;
