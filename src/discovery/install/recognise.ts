import type { Config } from "../../config/config.ts";
import { CLIENTS } from "../clients/table.ts";
import { type Dialect, GENERIC } from "../dialects.ts";
import { type EntryOutcome, readEntry } from "../entry/entry.ts";
import { createSelfJudge } from "../judges/self.ts";
import type { FillBudget } from "../variables.ts";

/** Files of people are far below it; discovery bounds what all files together may fill in. */
const MAX_FILES = 100;
const MAX_CHARS = 1024 ** 2;

/** What a client means by an entry of its file. */
export function readEntryOf(
  client: string,
  file: string,
  key: string,
  value: unknown,
  config: Config,
): EntryOutcome {
  return readEntry(value, {
    config,
    origin: { client, scope: "user", file, key },
    dialect: dialectOf(client),
    inputs: new Map(),
    isBare: false,
    budget: createBudget(),
  });
}

function dialectOf(client: string): Dialect {
  return CLIENTS.find((row) => row.client === client)?.dialect ?? GENERIC;
}

function createBudget(): FillBudget {
  let files = MAX_FILES;
  let chars = MAX_CHARS;
  return {
    takeFile: () => files-- > 0,
    takeChars: (length) => {
      chars -= length;
      return chars >= 0;
    },
  };
}

/** Tells whether an entry starts this program, as far as that can be seen. */
export function createRecogniser(
  config: Config,
  selfPath: string | undefined,
): (outcome: EntryOutcome) => Promise<boolean> {
  const judge = createSelfJudge({ selfPath, searchPath: config.env["PATH"] ?? "" });
  return async (outcome) => {
    if (outcome.kind !== "server") return false;
    const { definition } = outcome;
    return (await judge({ ...definition, alias: definition.name })) !== undefined;
  };
}
