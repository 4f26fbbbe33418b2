/** How long ago something was. The page's script keeps it up to date, and makes it where `now` is not given. */
export function Age({ since, now }: { readonly since: number; readonly now: number | undefined }) {
  return (
    <time dateTime={new Date(since).toISOString()} data-since={String(since)}>
      {now === undefined ? "" : describeAge(now - since)}
    </time>
  );
}

/** As `describeAge` of page.client.js. */
function describeAge(ms: number): string {
  const seconds = Math.max(Math.floor(ms / 1000), 0);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** A duration in words of at most a few letters. */
export function shownMs(ms: number): string {
  if (ms < 1) return "< 1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min`;
}
