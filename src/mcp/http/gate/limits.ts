/** How many connections may be open at once. */
export interface ConnectionLimits {
  readonly total: number;
  /** From one address. Whoever is behind a proxy has the proxy's. */
  readonly perAddress: number;
}

/** More would cost memory without serving anybody: requests are limited to fewer. */
const MAX_CONNECTIONS = 4096;
const MIN_CONNECTIONS = 8;
/** The connection itself, and both ends of the one behind the gate. */
const DESCRIPTORS_EACH = 3;
/** For sandboxes, servers and files: half of few, but not of many. */
const MAX_RESERVE = 1024;

/** What a process with so many descriptors can hold, with enough of them left for all else that it does. */
export function connectionLimits(openFiles: number): ConnectionLimits {
  const free = openFiles - Math.min(Math.floor(openFiles / 2), MAX_RESERVE);
  const fitting = Math.floor(free / DESCRIPTORS_EACH);
  const total = Math.max(MIN_CONNECTIONS, Math.min(MAX_CONNECTIONS, fitting));
  return { total, perAddress: Math.max(1, Math.floor(total / 2)) };
}

/** What counts as one address: of IPv6 the network of one subscriber, who has all of its addresses. */
export function sourceOf(remoteAddress: string): string {
  const [address = ""] = remoteAddress.split("%");
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.toLowerCase().split("::");
  const groups = head === "" ? [] : head.split(":");
  const behind = tail === undefined || tail === "" ? 0 : tail.split(":").length;
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - behind);
  const whole = [...groups, ...Array<string>(zeros).fill("0"), ...(tail ?? "").split(":")];
  return `${whole
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":")}::/64`;
}
