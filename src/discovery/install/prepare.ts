import { discover } from "../discover.ts";
import type { FoundTarget } from "./find-targets.ts";
import { listMoved, listNeighbours, type MoveBack, type Neighbour, planMove, planMoveBack } from "./move.ts";
import type { OwnCommand } from "./own-command.ts";
import type { FileChange, Plan, PlanContext } from "./plan.ts";
import { planInstall, planUninstall } from "./plan.ts";

/** Everything that is to be done for one client. */
export interface Prepared {
  readonly plan: Plan;
  /** In the order in which no server is lost, wherever it ends. */
  readonly changes: readonly FileChange[];
  /** The other servers of the file, those among them that are moved by these changes, and those that come back. */
  readonly neighbours: readonly Neighbour[];
  readonly moved: readonly string[];
  readonly back: MoveBack | undefined;
}

/** Prepares our entry in a client's file, and the move of those beside it. Throws `CONFIG_INVALID`; writes nothing. */
export async function prepareInstall(
  found: FoundTarget,
  own: OwnCommand,
  context: PlanContext & { readonly move: boolean },
): Promise<Prepared> {
  const { config, selfPath, move } = context;
  const plan = await planInstall(found, own, context);
  const isAlone = Object.keys(plan.document.entries).length < 2;
  const neighbours = isAlone
    ? []
    : await listNeighbours(found, plan.document, await discover(config, { selfPath }), config);
  const movable = neighbours.filter(({ reason }) => reason === undefined);
  const moves = move && movable.length > 0 ? await planMove(found, plan, movable, config) : [];
  const changes = merge([...moves, ...(plan.change === undefined ? [] : [plan.change])], moves.at(-1));
  return {
    plan,
    changes,
    neighbours,
    moved: moves.length > 0 ? movable.map(({ name }) => name) : [],
    back: undefined,
  };
}

/** Prepares to take our entry out and to bring back what was moved. Throws as {@link prepareInstall}. */
export async function prepareUninstall(found: FoundTarget, context: PlanContext): Promise<Prepared> {
  const moved = found.scope === "user" ? await listMoved(found, context.config) : [];
  const plan = await planUninstall(found, context, moved);
  const back = moved.length > 0 ? await planMoveBack(found, plan, context.config) : undefined;
  const [client, own] = back?.changes ?? [];
  const changes = merge(
    [
      ...(plan.change === undefined ? [] : [plan.change]),
      ...(client === undefined ? [] : [client]),
      ...(own === undefined ? [] : [own]),
    ],
    client,
  );
  return { plan, changes, neighbours: [], moved: [], back };
}

/** One change for each file: `final` says what is in a file of two, and the other what becomes of what was put aside. */
function merge(changes: readonly FileChange[], final: FileChange | undefined): readonly FileChange[] {
  const merged = new Map<string, FileChange>();
  for (const change of changes) {
    const { path } = change.file;
    const other = merged.get(path);
    const fate = [change, other].find((each) => each !== undefined && each.fate !== "keep")?.fate ?? "keep";
    const { after } = other === undefined || final === undefined ? change : final;
    merged.set(path, { file: change.file, after, fate });
  }
  return [...merged.values()].filter(
    ({ file, after }) => after !== (file.bytes === undefined ? undefined : file.text),
  );
}
