import { isGvisor } from "../../container/gvisor.ts";
import type { SandboxView } from "../../kernel/probes.ts";
import type { Finding, FindingStatus } from "./finding.ts";

const OLDEST_PYTHON = [3, 9] as const;
const FOLDERS = ["/tmp", "/workspace", "/projects", "/dev/shm"];
/** The ambient ones, which older gVisor does not show, are never more than the permitted ones. */
const CAPABILITIES = ["CapInh", "CapPrm", "CapEff", "CapBnd"];
const REPORT =
  "Report this with the output of sandpy doctor --json: the sandbox is not as closed as it must be.";

/** Judges what was seen from inside of a container that was started as those of sessions are. */
export function judgeView(view: SandboxView, ociRuntime: string | undefined): Finding[] {
  return [
    judgePython(view),
    network(view),
    kernelSurface(view),
    fileSystem(view, isGvisor(ociRuntime)),
    privileges(view),
  ];
}

function judgePython(view: SandboxView): Finding {
  const { python, implementation, missing_modules: missing, packages } = view;
  const facts = { version: python, implementation, missingModules: missing, packages };
  const [major = 0, minor = 0] = python.split(".").map(Number);
  const isOld = major < OLDEST_PYTHON[0] || (major === OLDEST_PYTHON[0] && minor < OLDEST_PYTHON[1]);
  if (isOld || implementation !== "CPython") {
    return {
      check: "python",
      status: "problem",
      found: `the image has ${implementation} ${python}, and the sandbox needs CPython 3.9 or newer`,
      remedy: "Name another image with MCP_BRIDGE_IMAGE.",
      command: "sandpy image pull python:3.14-slim",
      facts,
    };
  }
  const with_ = packages.length === 0 ? "" : `, with ${packages.join(", ")}`;
  if (missing.length === 0) {
    return { check: "python", status: "ok", found: `${implementation} ${python}${with_}`, facts };
  }
  return {
    check: "python",
    status: "warning",
    found: `${implementation} ${python}${with_}, but without ${missing.join(", ")}`,
    remedy: "Code that imports these fails; name an image with a whole Python with MCP_BRIDGE_IMAGE.",
    facts,
  };
}

/** A breach, in words, where `isOpen`. */
type Breach = readonly [isOpen: boolean, words: string];

function network(view: SandboxView): Finding {
  const { connect, interfaces, abstract_sockets: abstract } = view;
  const reached = Object.entries(connect).filter(([, error]) => error === null || error === "timeout");
  const foreign = interfaces.filter((name) => name !== "lo");
  const breaches: readonly Breach[] = [
    [reached.length > 0, `there is a way out by ${reached.map(([kind]) => kind).join(", ")}`],
    [foreign.length > 0, `there are network interfaces: ${foreign.join(", ")}`],
    [abstract > 0, `${abstract} abstract sockets of other programs can be seen`],
  ];
  return judge("network", breaches, "no way out: connections fail, there is no interface but lo", {
    connect,
    interfaces,
    abstractSockets: abstract,
  });
}

function kernelSurface(view: SandboxView): Finding {
  const { families, user_namespace: namespace } = view;
  const open = Object.entries(families).filter(([, error]) => error === null);
  const breaches: readonly Breach[] = [
    [open.length > 0, `sockets of ${open.map(([name]) => name).join(", ")} can be made`],
    [namespace === null, "a user namespace can be made, which gives every capability inside it"],
    [view.status["Seccomp"] !== "2", `seccomp has mode ${view.status["Seccomp"] ?? "?"}, and not 2`],
  ];
  const untested = namespace === "untested" ? " (user namespaces not tried: no ctypes)" : "";
  return judge(
    "kernel-surface",
    breaches,
    `seccomp filters; ${Object.keys(families).join(", ")} and user namespaces are refused${untested}`,
    { families, userNamespace: namespace, seccomp: view.status["Seccomp"] ?? null },
  );
}

/** gVisor has neither devices of the machine nor new privileges, and drops the flags against them. */
function fileSystem(view: SandboxView, isGvisor: boolean): Finding {
  const { root, folders, writable, unwritable_own: unwritable, engine_sockets: sockets, foreign } = view;
  const needed = isGvisor ? (["noexec"] as const) : (["noexec", "nosuid", "nodev"] as const);
  const loose = FOLDERS.filter((path) => {
    const flags = folders[path];
    return flags === null || flags === undefined || !needed.every((name) => flags[name]);
  });
  const breaches: readonly Breach[] = [
    [root?.ro !== true, "the root file system is not read-only"],
    [writable.length > 0, `files can be made in ${writable.join(", ")}`],
    [loose.length > 0, `${loose.join(", ")} is not mounted ${needed.join(" and ")}`],
    [sockets.length > 0, `an engine's socket is inside: ${sockets.join(", ")}`],
    [unwritable.length > 0, `no files can be made in ${unwritable.join(", ")}`],
  ];
  const good = "read-only but for /tmp, /workspace, /projects and /dev/shm, which are bounded and noexec";
  const finding = judge("file-system", breaches, good, { root, folders, writable, foreign });
  if (finding.status !== "ok" || foreign.length === 0) return finding;
  return {
    ...finding,
    status: "warning",
    found: `${good}; but code sees ${foreign.join(", ")} of this machine`,
    remedy:
      "The engine's own configuration shows these to every container. Take them out of volumes and devices in " +
      "containers.conf, and out of mounts.conf, or know that code in the sandbox may read them.",
  };
}

function privileges(view: SandboxView): Finding {
  const { uid, gid, pid, status } = view;
  const shown = { ...Object.fromEntries(CAPABILITIES.map((name) => [name, "unknown"])), ...status };
  const capabilities = Object.entries(shown).filter(
    ([name, value]) => name.startsWith("Cap") && !/^0+$/.test(value),
  );
  const breaches: readonly Breach[] = [
    [uid === 0, "it runs as root"],
    [
      capabilities.length > 0,
      `it has capabilities: ${capabilities.map((pair) => pair.join(" ")).join(", ")}`,
    ],
    [status["NoNewPrivs"] !== "1", "no_new_privs is not set"],
    [pid !== 1, "it has no process namespace of its own"],
  ];
  return judge("privileges", breaches, `uid ${uid}, no capabilities, no_new_privs`, { uid, gid, status });
}

function judge(
  check: Finding["check"],
  breaches: readonly Breach[],
  good: string,
  facts: Readonly<Record<string, unknown>>,
): Finding {
  const words = breaches.filter(([isOpen]) => isOpen).map(([, text]) => text);
  const status: FindingStatus = words.length === 0 ? "ok" : "problem";
  return {
    check,
    status,
    found: words.length === 0 ? good : words.join("; "),
    remedy: words.length === 0 ? undefined : REPORT,
    facts,
  };
}
