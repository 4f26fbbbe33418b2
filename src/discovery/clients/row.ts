import type { Dialect } from "../dialects.ts";
import type { Layout } from "../layouts.ts";
import type { PathPattern } from "../places.ts";
import type { ReadSwitches } from "../switches.ts";

/** The files of one client that look alike. */
export interface ClientRow {
  readonly client: string;
  /** Where they lie, in order of precedence; `locate` says how they are written. The name tells the format. */
  readonly paths: readonly PathPattern[];
  /** How servers are reached in them; absent where they only switch servers. */
  readonly layout?: Layout;
  readonly dialect: Dialect;
  /** Only the first file that exists is read: the others are what older versions left behind. */
  readonly isFirstOnly?: boolean;
  /** Its files stand for themselves: the same name in two of them is two servers, and paths start at the file. */
  readonly isBare?: boolean;
  readonly switches?: ReadSwitches;
}
