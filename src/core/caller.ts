/** Who a session, a memory and a line of the audit belong to. */
export interface Caller {
  /** Stable and unique: what separates one from another. At most 256 characters, any Unicode. */
  readonly id: string;
  /** What people read. */
  readonly name: string;
}

/** Whoever started the bridge: the only caller over stdio and on the command line, and over HTTP without authentication. */
export const LOCAL_CALLER: Caller = { id: "local", name: "local" };
