import { type ArgsDef, defineCommand } from "citty";

/** The command tree. Commands are loaded when they are called: `--help` must not load an MCP SDK. */
export const root = defineCommand<ArgsDef>({
  meta: {
    name: "sandpy",
    description:
      "Sandpy runs Python in a locked-down container for MCP clients.\nAlone, with a client at its stdin, it serves MCP.",
  },
  args: {
    version: { type: "boolean", alias: "V", description: "print the version" },
  },
  subCommands: {
    serve: () => import("./serve.ts").then((module) => module.serveCommand),
    run: () => import("./run/run.ts").then((module) => module.runCommand),
    servers: () => import("./servers.ts").then((module) => module.serversCommand),
    tools: () => import("./tools.ts").then((module) => module.toolsCommand),
    call: () => import("./call/call.ts").then((module) => module.callCommand),
    auth: () => import("./auth.ts").then((module) => module.authCommand),
    memory: () => import("./memory/memory.ts").then((module) => module.memoryCommand),
    image: () => import("./image/image.ts").then((module) => module.imageCommand),
    doctor: () => import("./doctor.ts").then((module) => module.doctorCommand),
    sessions: () => import("./sessions/sessions.ts").then((module) => module.sessionsCommand),
    trust: () => import("./trust.ts").then((module) => module.trustCommand),
    install: () => import("./install/install.ts").then((module) => module.installCommand),
    config: () => import("./config/config.ts").then((module) => module.configCommand),
    completions: () => import("./completions/completions.ts").then((module) => module.completionsCommand),
    __manual: () => import("./manual/manual.ts").then((module) => module.manualCommand),
    __complete: () => import("./completions/answers.ts").then((module) => module.completeCommand),
  },
});
