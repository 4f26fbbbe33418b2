import { rmSync } from "node:fs";
import type { Config } from "../../../src/config/config.ts";
import { loadConfig } from "../../../src/config/load.ts";
import type { BridgeError } from "../../../src/core/errors.ts";
import { applyChanges } from "../../../src/discovery/install/apply.ts";
import {
  chooseTargets,
  type FoundTarget,
  findTargets,
  type InstallScope,
} from "../../../src/discovery/install/find-targets.ts";
import { type Prepared, prepareInstall, prepareUninstall } from "../../../src/discovery/install/prepare.ts";
import { Machine } from "../helpers.ts";

/** The program that clients of the rig are told to start. */
export const PROGRAM = "/opt/tools/sandpy";
const OWN = { forTerminals: PROGRAM, forDesktops: PROGRAM };

/** A machine whose clients get our entry and lose it again. */
export class InstallRig {
  readonly machine = new Machine();
  readonly config: Config;

  constructor() {
    const env = { HOME: this.machine.home, PATH: "/nowhere", MCP_BRIDGE_TRUST_PROJECT: "1" };
    this.config = { ...loadConfig(env), projectDir: this.machine.project, platform: "linux" };
  }

  async target(id: string, scope: InstallScope = "user"): Promise<FoundTarget> {
    const [found] = chooseTargets(await findTargets(this.config, scope), [id]);
    if (found === undefined) throw new Error(`there is no ${id}`);
    return found;
  }

  async prepare(id: string, { scope = "user" as InstallScope, move = false } = {}): Promise<Prepared> {
    const context = { config: this.config, selfPath: undefined, move };
    return prepareInstall(await this.target(id, scope), OWN, context);
  }

  async install(id: string, options = {}): Promise<Prepared> {
    const prepared = await this.prepare(id, options);
    await applyChanges(prepared.changes);
    return prepared;
  }

  async uninstall(id: string, scope: InstallScope = "user"): Promise<Prepared> {
    const context = { config: this.config, selfPath: undefined };
    const prepared = await prepareUninstall(await this.target(id, scope), context);
    await applyChanges(prepared.changes);
    return prepared;
  }

  /** Why something was refused, without the folders of the machine. */
  async refusal(work: Promise<unknown>): Promise<Pick<BridgeError, "code" | "message" | "hint">> {
    const error = await work.then(
      () => new Error("it was accepted") as BridgeError,
      (reason: BridgeError) => reason,
    );
    return { code: error.code, message: this.machine.strip(error.message), hint: error.hint };
  }

  close(): void {
    rmSync(this.machine.root, { recursive: true, force: true });
  }
}
