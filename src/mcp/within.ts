import { withDeadline } from "../core/lifecycle.ts";

/** Whether `promise` resolved within `ms` and before `hurry` was aborted. */
export async function within(promise: Promise<void>, ms: number, hurry?: AbortSignal): Promise<boolean> {
  const hurried = new Promise<boolean>((resolve) => {
    if (hurry?.aborted) resolve(false);
    hurry?.addEventListener("abort", () => resolve(false), { once: true });
  });
  const settled = promise.then(() => true);
  return withDeadline(Promise.race([settled, hurried]), ms, "shutdown").catch(() => false);
}
