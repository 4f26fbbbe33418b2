/** Code that takes all it can get of what is kept, by requests that it forges. */
import { afterAll, beforeAll, test } from "bun:test";
import { startTarget, type Target } from "../helpers/attack.ts";
import { FORGERY } from "../helpers/forgery.ts";

let target: Target;
beforeAll(async () => {
  target = await startTarget();
  await target.bridge.python(
    "save_memory('large', 'x' * 8_000_000)\nwith open('/projects/large', 'wb') as file: file.write(b'x' * 8_000_000)",
  );
});
afterAll(async () => {
  await target[Symbol.asyncDispose]();
});

const REQUESTS = {
  "a memory": ["memory_load", "key='large'"],
  "a file": ["project_read", "path='large', offset=0"],
};

test.each(Object.entries(REQUESTS))(
  "asking for %s 300 times without reading the answers costs the bridge no more than asking once",
  async (_title, [method = "", params = ""]) => {
    await target.attack({
      code: `${FORGERY}
forge(*({"type": "rpc", "id": 10**6 + n, "method": "${method}", "params": dict(${params})} for n in range(300)))
import itertools
sum(itertools.repeat(0))`,
      timeout: 5,
      state: "lost",
      next: /./,
    });
  },
);
