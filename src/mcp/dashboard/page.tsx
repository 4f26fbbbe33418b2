import { raw } from "hono/html";
import type { Child } from "hono/jsx";
import { PAGE_SCRIPT, PAGE_STYLE } from "./assets.ts";
import type { ListName, Lists, Viewer } from "./parts.tsx";
import { shownWord } from "./shown-text.ts";

interface ShellProps {
  readonly title: string;
  readonly hasScript: boolean;
  readonly children: Child;
}

function Shell({ title, hasScript, children }: ShellProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{title}</title>
        <link rel="icon" href="data:," />
        <style>{raw(PAGE_STYLE)}</style>
      </head>
      <body>
        {children}
        {hasScript ? <script>{raw(PAGE_SCRIPT)}</script> : null}
      </body>
    </html>
  );
}

export interface PageProps {
  readonly viewer: Viewer;
  readonly lists: Lists;
  /** What came of a form that was sent without the script. */
  readonly note: string | undefined;
  readonly now: number;
}

export function Page({ viewer, lists, note, now }: PageProps) {
  const { caller, isAdmin, formToken, hasCookie } = viewer;
  return (
    <Shell title="Sandpy" hasScript>
      <header class="top">
        <h1>Sandpy</h1>
        <p class="quiet">
          {shownWord(caller.name, 80)}
          {isAdmin ? ", sees the sessions of all" : ", sees its own sessions"}
        </p>
        {hasCookie ? (
          <form method="post" action="/dashboard/logout">
            <input type="hidden" name="token" value={formToken} />
            <button type="submit">Sign out</button>
          </form>
        ) : null}
        <p id="live" class="quiet">
          Reload to see what is new.
        </p>
      </header>
      <p id="note" role="status">
        {note ?? ""}
      </p>
      <main>
        <List name="sessions" title="Sessions" empty="No session is open." lists={lists} now={now} />
        <List
          name="calls"
          title="Calls of servers"
          empty="No server was called yet."
          lists={lists}
          now={now}
        />
        <List name="servers" title="Servers" empty="No server is defined." lists={lists} now={now} />
      </main>
    </Shell>
  );
}

interface ListProps {
  readonly name: ListName;
  readonly title: string;
  readonly empty: string;
  readonly lists: Lists;
  readonly now: number;
}

function List({ name, title, empty, lists, now }: ListProps) {
  const entries = lists[name];
  return (
    <section aria-labelledby={`${name}-title`} class={name}>
      <h2 id={`${name}-title`}>
        {title} <span class="count">{String(entries.length)}</span>
      </h2>
      {/* biome-ignore lint/a11y/noRedundantRoles: without bullets Safari no longer takes it for a list. */}
      <ul id={name} role="list">
        {entries.map((entry) => entry.render(now))}
      </ul>
      <p class="empty quiet">{empty}</p>
    </section>
  );
}

/** Asks for a token: a browser cannot send one from its address bar. */
export function LoginPage({ fault }: { readonly fault: string | undefined }) {
  return (
    <Shell title="Sign in to Sandpy" hasScript={false}>
      <main class="login">
        <h1>Sandpy</h1>
        <form method="post" action="/dashboard/login">
          <label for="token">Token</label>
          <input
            id="token"
            name="token"
            type="password"
            required
            autocomplete="current-password"
            aria-describedby="about"
          />
          <p id="about" class="quiet">
            The bearer token that your MCP client sends to this server.
          </p>
          <p role="alert">{fault === undefined ? "" : shownWord(fault)}</p>
          <button type="submit">Sign in</button>
        </form>
      </main>
    </Shell>
  );
}
