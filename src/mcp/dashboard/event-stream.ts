import type { Feed } from "./feed.ts";
import type { Gauges } from "./gauges.ts";
import { type ListName, type Lists, listsFor, type Viewer } from "./parts.tsx";
import type { SessionBoard } from "./session-board.ts";

/** Changes within this time are shown at once, however fast a program writes. */
const MIN_PAUSE_MS = 400;
/** What no event tells, memory and servers, is looked at this often. */
const LOOK_MS = 2000;
/** Proxies and our own server end what is silent. */
const SILENCE_MS = 8000;

export interface EventStreamOptions {
  readonly board: SessionBoard;
  readonly gauges: Gauges;
  /** Who looks, asked again and again: `undefined` when the token is not good any more. */
  readonly viewer: () => Promise<Viewer | undefined>;
  /** Called once when the stream is over. */
  readonly onEnd: () => void;
  /** Ends the stream. */
  readonly signal: AbortSignal;
}

/**
 * Server-sent events for one page: `lists`, with the entries that changed since the last one and the keys of all; and
 * `leave`, after which the page signs in again. Nothing is made before the client has taken what there was, so a slow one
 * costs no memory and misses only what was in between.
 */
export function createEventStream(options: EventStreamOptions): ReadableStream<Uint8Array> {
  const { board, gauges, signal } = options;
  const { feed } = board;
  const ended = new AbortController();
  const over = AbortSignal.any([signal, ended.signal]);
  const encoder = new TextEncoder();
  const sent = new Sent();
  let sentAt = 0;
  let seen = -1;
  let isFirst = true;
  const end = () => {
    if (ended.signal.aborted) return;
    ended.abort();
    options.onEnd();
  };

  /** The next thing to say; `undefined`: nothing more. */
  const next = async (): Promise<string | undefined> => {
    while (!over.aborted) {
      if (!isFirst) await untilChange(feed, seen, over);
      isFirst = false;
      if (over.aborted) return undefined;
      const viewer = await options.viewer();
      if (viewer === undefined) {
        end();
        return "event: leave\ndata:\n\n";
      }
      seen = feed.version;
      await gauges.refresh(board.sandboxes());
      const changes = await sent.changes(listsFor(viewer, board, gauges));
      const now = Date.now();
      if (changes === undefined && now - sentAt < SILENCE_MS) continue;
      sentAt = now;
      return changes === undefined
        ? ":\n\n"
        : `event: lists\ndata: ${JSON.stringify({ now, lists: changes })}\n\n`;
    }
    return undefined;
  };

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const text = await next();
          if (text !== undefined) controller.enqueue(encoder.encode(text));
          if (!over.aborted) return;
          controller.close();
          end();
        } catch (error) {
          controller.error(error);
          end();
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

interface ListChanges {
  /** The keys of all entries. */
  readonly order: readonly string[];
  /** The HTML of those that are new or changed. */
  readonly put: Readonly<Record<string, string>>;
}

/** What a page has got. */
class Sent {
  readonly #lists = new Map<ListName, { readonly order: string; readonly signatures: Map<string, string> }>();

  /** What it has not got yet, and has then; `undefined`: nothing. */
  async changes(lists: Lists): Promise<Partial<Record<ListName, ListChanges>> | undefined> {
    const changed: Partial<Record<ListName, ListChanges>> = {};
    for (const name of Object.keys(lists) as ListName[]) {
      const entries = lists[name];
      const had = this.#lists.get(name);
      const order = entries.map(({ key }) => key);
      const news = entries.filter(({ key, signature }) => had?.signatures.get(key) !== signature);
      if (news.length === 0 && had?.order === order.join()) continue;
      const put: Record<string, string> = {};
      for (const entry of news) put[entry.key] = String(await entry.render(undefined));
      changed[name] = { order, put };
      this.#lists.set(name, {
        order: order.join(),
        signatures: new Map(entries.map(({ key, signature }) => [key, signature])),
      });
    }
    return Object.keys(changed).length === 0 ? undefined : changed;
  }
}

/** Resolves a moment after the feed went beyond `seen`, when it is time to look at the rest, or when `signal` aborts. */
async function untilChange(feed: Feed, seen: number, signal: AbortSignal): Promise<void> {
  const changed = Promise.withResolvers<void>();
  const forget = feed.onChange(changed.resolve);
  const pause = (ms: number) => {
    const passed = Promise.withResolvers<void>();
    const timer = setTimeout(passed.resolve, ms);
    return { passed: passed.promise, timer };
  };
  const look = pause(LOOK_MS);
  const least = pause(MIN_PAUSE_MS);
  const stop = () => changed.resolve();
  signal.addEventListener("abort", stop, { once: true });
  if (feed.version !== seen || signal.aborted) changed.resolve();
  await Promise.race([changed.promise, look.passed]);
  if (!signal.aborted) await least.passed;
  forget();
  signal.removeEventListener("abort", stop);
  clearTimeout(look.timer);
  clearTimeout(least.timer);
}
