/** One value, in bytes of its JSON. */
export const MAX_VALUE_BYTES = 16 * 1024 * 1024;
/** What the parts of one value take in memory while it is looked at: 4,000,000 numbers, or 400,000 entries of an object. */
export const MAX_VALUE_COST = 128 * 1024 * 1024;
/** Metadata as well, and what other programs keep beside. */
export const MAX_RECORD_COST = MAX_VALUE_COST + 32 * 1024 * 1024;
/** The metadata of one value, in bytes of its JSON. */
export const MAX_METADATA_BYTES = 64 * 1024;
/** The file of one memory: what is larger cannot be one that we wrote. */
export const MAX_RECORD_BYTES = MAX_VALUE_BYTES + 1024 * 1024;
export const MAX_KEY_BYTES = 1024;
/** The text of all saved tools. */
export const MAX_TOOLS_BYTES = 4 * 1024 * 1024;
/** All files of one caller. */
export const MAX_FILES = 10_000;
/** What is held is free again after this: the code that held it hangs, or has lost it. */
export const LEASE_MS = 60_000;
/** One that does not give back is waited for this long. */
export const HOLD_WAIT_MS = 8000;
/** Of one session. */
export const MAX_WAITING_HOLDS = 64;
/** Of one session too: each has a lock on the disk and a timer. */
export const MAX_HOLDS = 128;
/** A frame has room for this many bytes of escaped text beside what else it says. */
export const MAX_ESCAPED_BYTES = 32 * 1024 * 1024 - 256 * 1024;
