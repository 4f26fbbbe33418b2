import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import puppeteer, { type Browser, type BrowserContext, type Page } from "puppeteer-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const START_MS = 60_000;
const WAIT_MS = 30_000;

/** A page of its own, without cookies of others, and what went wrong in it. */
export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  /** Errors of scripts and of the console, where a breach of the Content-Security-Policy is one. */
  readonly faults: string[];
}

/** A browser without a window. */
export interface TestBrowser extends AsyncDisposable {
  open(width: number, height: number, scheme?: "light" | "dark"): Promise<WatchedPage>;
}

/** Starts Chromium, which must be on this machine. */
export async function startBrowser(): Promise<TestBrowser> {
  const profile = mkdtempSync(join(tmpdir(), "sandpy-browser-"));
  const browser = await puppeteer.launch({
    executablePath: findBrowser(),
    headless: true,
    userDataDir: profile,
    timeout: START_MS,
    protocolTimeout: START_MS,
    // Its own sandbox needs rights that root in a container has not; it sees nothing but our page.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run"],
    env: { HOME: profile, PATH: process.env["PATH"], XDG_RUNTIME_DIR: undefined },
  });
  return {
    open: (width, height, scheme = "light") => openPage(browser, width, height, scheme),
    async [Symbol.asyncDispose]() {
      await browser.close();
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function findBrowser(): string {
  const found =
    process.env["CHROME_BIN"] ?? NAMES.map((name) => Bun.which(name)).find((path) => path !== null);
  if (found === undefined || found === null) {
    throw new Error(
      `no browser on this machine: expected CHROME_BIN, or one of ${NAMES.join(", ")} on PATH; on Debian: apt-get install chromium`,
    );
  }
  return found;
}

async function openPage(
  browser: Browser,
  width: number,
  height: number,
  scheme: "light" | "dark",
): Promise<WatchedPage> {
  const context: BrowserContext = await browser.createBrowserContext();
  const page = await context.newPage();
  const faults: string[] = [];
  page.setDefaultTimeout(WAIT_MS);
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warn") faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: scheme },
    { name: "prefers-reduced-motion", value: "reduce" },
  ]);
  return { page, faults, [Symbol.asyncDispose]: () => context.close() };
}
