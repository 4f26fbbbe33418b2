import { OWN_CLIENT } from "./clients/table.ts";
import { type Candidate, type Collection, EXPLICIT_CLIENT, type Toggle } from "./collect.ts";
import type { NamedDefinition } from "./entry/entry.ts";
import { identityOf } from "./fingerprint.ts";
import type { Availability, Origin, RemoteServer, StdioServer } from "./server-definition.ts";

/** Files that are meant for us count before those of others, an administrator's before those of a project. */
const SCOPE_ORDER: readonly Origin["scope"][] = ["explicit", "system", "project", "user"];

/** Of one server's definitions the most able counts; of those that are alike the one of highest precedence. */
const PREFERENCE: readonly Availability["kind"][] = [
  "usable",
  "needs",
  "untrusted",
  "disabled",
  "forbidden",
  "self",
];

/** A candidate whose availability is settled as far as files say. */
export interface Settled {
  readonly definition: NamedDefinition;
  readonly layer: number;
  readonly isBare: boolean;
}

/** Applies what switches servers outside their own entries, and puts the result in order of precedence. */
export function settle({ candidates, toggles, switches }: Collection): readonly Settled[] {
  const byKey = new Map<string, Map<number, Toggle>>();
  for (const toggle of toggles) {
    const layers = byKey.get(toggle.origin.key) ?? new Map<number, Toggle>();
    byKey.set(toggle.origin.key, layers.set(toggle.layer, toggle));
  }
  const settled = candidates.map((candidate): Settled => {
    const { definition, layer, isBare } = candidate;
    const [{ client, key, scope }] = definition.origins;
    const lists = switches.filter((entry) => entry.client === client).map(({ list }) => list);
    const listed = lists.map((list) => list.reasonFor(key, scope)).find((reason) => reason !== undefined);
    const denied = lists.flatMap((list) => list.deniedTools?.(key) ?? []);
    const reason = listed ?? reasonOf(candidate, [...(byKey.get(key)?.values() ?? [])]);
    const availability = reason === undefined ? definition.availability : switchedOff(definition, reason);
    const tools = { ...definition.tools, deny: [...definition.tools.deny, ...denied] };
    return { definition: { ...definition, availability, tools }, layer, isBare };
  });
  return settled.sort((one, other) => rankOf(one) - rankOf(other) || one.layer - other.layer);
}

function switchedOff({ availability }: NamedDefinition, reason: string): Availability {
  return availability.kind === "usable"
    ? { kind: "disabled", reason }
    : { kind: "disabled", reason, otherwise: availability };
}

function reasonOf({ definition, off, layer }: Candidate, toggles: readonly Toggle[]): string | undefined {
  const [{ client }] = definition.origins;
  const toggle = toggles
    .filter(({ origin, layer: above }) => isOurs(origin) || (origin.client === client && above < layer))
    // A stranger's project may switch off what the user has, but not on.
    .filter(({ origin, isOn }) => origin.scope !== "project" || !isOn)
    .sort((one, other) => one.layer - other.layer)[0];
  if (toggle === undefined) return off;
  return toggle.isOn ? undefined : `${toggle.reason} in ${toggle.origin.file}`;
}

function isOurs({ client }: Origin): boolean {
  return client === OWN_CLIENT || client === EXPLICIT_CLIENT;
}

function rankOf({ definition }: Settled): number {
  const [origin] = definition.origins;
  return origin.client === OWN_CLIENT ? 0.5 : SCOPE_ORDER.indexOf(origin.scope);
}

/**
 * One definition for each server. Within one client a name stands for its definition of highest precedence, and hides
 * those below, unless the user does not trust it. Between files, two definitions are one server if they mean the same
 * program or URL and have the same name, or the same variables and headers as well.
 */
export function merge(settled: readonly Settled[]): readonly Settled[] {
  const groups: Settled[][] = [];
  const byName = new Map<string, Settled[]>();
  const byValues = new Map<string, Settled[]>();
  for (const candidate of hideLowerLayers(settled)) {
    const { transport, origins } = candidate.definition;
    const identity = identityOf(transport);
    const name = JSON.stringify([identity, origins[0].key]);
    const values = JSON.stringify([identity, valuesOf(transport)]);
    let group = [byName.get(name), byValues.get(values)].find(
      (known) => known !== undefined && !isTold(candidate, known),
    );
    if (group === undefined) {
      group = [];
      groups.push(group);
    }
    group.push(candidate);
    if (!byName.has(name)) byName.set(name, group);
    if (!byValues.has(values)) byValues.set(values, group);
  }
  return groups.map(joinMembers);
}

/** Whether its file has the same server under another name already: to whoever wrote that, they are two. */
function isTold({ definition }: Settled, members: readonly Settled[]): boolean {
  const [origin] = definition.origins;
  return members.some((member) =>
    member.definition.origins.some(({ file, key }) => file === origin.file && key !== origin.key),
  );
}

function hideLowerLayers(settled: readonly Settled[]): readonly Settled[] {
  const kept: Settled[] = [];
  const tops = new Map<string, Settled>();
  for (const candidate of [...settled].sort((one, other) => one.layer - other.layer)) {
    const [{ client, key }] = candidate.definition.origins;
    const id = JSON.stringify([client, key]);
    const top = candidate.isBare ? undefined : tops.get(id);
    // A list may have a name twice: nothing says that one of them is meant to hide the other.
    if (top === undefined || top.layer === candidate.layer || isRefused(top)) {
      if (!candidate.isBare) tops.set(id, candidate);
      kept.push(candidate);
    } else if (identityOf(top.definition.transport) === identityOf(candidate.definition.transport)) {
      const origins = [...top.definition.origins, ...candidate.definition.origins] as const;
      const joined = { ...top, definition: { ...top.definition, origins } };
      kept[kept.indexOf(top)] = joined;
      tops.set(id, joined);
    }
  }
  const order = new Map(settled.map(({ layer }, index) => [layer, index]));
  return kept.sort((one, other) => (order.get(one.layer) ?? 0) - (order.get(other.layer) ?? 0));
}

/** Nobody gets their own server taken away by a stranger's project. */
function isRefused({ definition: { availability } }: Settled): boolean {
  return availability.kind === "untrusted" || availability.kind === "forbidden";
}

function valuesOf(transport: StdioServer | RemoteServer): string {
  const values = transport.kind === "stdio" ? transport.env : transport.headers;
  return JSON.stringify(Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function joinMembers(members: readonly Settled[]): Settled {
  const [first, ...rest] = members as readonly [Settled, ...Settled[]];
  const preference = ({ definition: { availability } }: Settled) => PREFERENCE.indexOf(availability.kind);
  // What our own files switch off stays off, whoever else has it.
  const isOff = isOurs(first.definition.origins[0]) && first.definition.availability.kind === "disabled";
  const best = isOff
    ? first
    : rest.reduce((one, other) => (preference(other) < preference(one) ? other : one), first);
  const others = members.filter((member) => member !== best).flatMap(({ definition }) => definition.origins);
  const origins = [...best.definition.origins, ...others] as const;
  return { ...best, definition: { ...best.definition, origins } };
}
