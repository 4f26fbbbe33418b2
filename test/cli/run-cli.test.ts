import { describe, expect, test } from "bun:test";
import { root } from "../../src/cli/root.ts";
import { CliWorld } from "../helpers/cli-world.ts";

const COMMANDS = Object.keys(root.subCommands ?? {})
  .filter((name) => !name.startsWith("__"))
  .join(", ");

describe("help and version", () => {
  test.each([
    ["--help", "Usage: sandpy [command] [flags]"],
    ["-h", "Usage: sandpy [command] [flags]"],
    ["help", "Usage: sandpy [command] [flags]"],
    ["help run", "Usage: sandpy run [flags] [FILE] [-- ARGS]"],
    ["run --help", "Usage: sandpy run [flags] [FILE] [-- ARGS]"],
    ["run -h x.py", "Usage: sandpy run [flags] [FILE] [-- ARGS]"],
    ["serve --help", "Usage: sandpy serve [flags]"],
    ["--version --help", "Usage: sandpy [command] [flags]"],
    ["--version", "sandpy 0.0.0-dev (unknown)"],
    ["-V", "sandpy 0.0.0-dev (unknown)"],
  ])("%s goes to stdout", async (words, part) => {
    const { code, stdout, stderr } = await new CliWorld().run(...words.split(" "));
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(part);
  });

  test("comes on a terminal where a client would be served", async () => {
    const world = new CliWorld();
    world.stdinIsTerminal = true;
    const { code, stdout, stderr } = await world.run();
    expect([code, stderr, world.events]).toEqual([0, "", []]);
    expect(stdout).toContain("Commands:\n  serve  ");
  });
});

describe("a mistake", () => {
  test.each([
    ["srve", 'unknown command "srve"\nDid you mean "serve"?'],
    [
      "frobnicate",
      `unknown command "frobnicate"\nThe commands are: ${COMMANDS}. Type "sandpy --help" for more.`,
    ],
    [
      "constructor",
      `unknown command "constructor"\nThe commands are: ${COMMANDS}. Type "sandpy --help" for more.`,
    ],
    ["server", 'unknown command "server"\nDid you mean "servers"?'],
    ["version", 'unknown command "version"\nType "sandpy --version".'],
    ["uninstall cursor", 'unknown command "uninstall"\nType "sandpy install CLIENT --uninstall".'],
    ["memory get a", 'unknown command "get"\nType "sandpy memory show".'],
    ["-v", 'unknown flag "-v"\nDid you mean "-V"?'],
    ["call", "SERVER is missing\nFor the servers, type: sandpy servers"],
    ["call notes", "TOOL is missing\nFor its tools, type: sandpy tools notes"],
    ["run x.py --since 1", 'unknown flag "--since"\nArguments of the program come after "--".'],
    ["help rnu", 'unknown command "rnu"\nDid you mean "run"?'],
    ["--verison", 'unknown flag "--verison"\nDid you mean "--version"?'],
    ["--frob", 'unknown flag "--frob"\nType "sandpy --help" for what it takes.'],
    ["--version=1", '--version takes no value, but has "1"\nType "sandpy --help" for what it takes.'],
    ["run", 'FILE is missing\nGive the path of a Python file, "-" for stdin, or the program with -c CODE.'],
    ["run x.py -c pass", 'both FILE "x.py" and -c are given\nArguments of the program come after "--".'],
    ["run -c", "-c needs a value\nType -c=<code>."],
    ["run -c pass --env 1A=x", '--env has "1A" for a name: expected letters, digits and _, such as TOKEN'],
    [
      "run -c pass --env NOT_SET_ANYWHERE",
      "--env NOT_SET_ANYWHERE: NOT_SET_ANYWHERE is not set here\nSet it before, or give its value: --env NOT_SET_ANYWHERE=VALUE",
    ],
    [
      "run -c pass --allow a.b",
      '--allow "a.b" allows tools, but no server may be used\nName the server too: --servers NAME',
    ],
    ["run --tiemout 3 x.py", 'unknown flag "--tiemout"\nDid you mean "--timeout"?'],
    ["run -x x.py", 'unknown flag "-x"\nArguments of the program come after "--".'],
    ["run x.py --timeout", "--timeout needs a value\nType --timeout=<seconds>."],
    ["run x.py --timeout --servers a", "--timeout needs a value\nType --timeout=<seconds>."],
    [
      "run x.py --timeout 1 --timeout 2",
      '--timeout is given twice\nType "sandpy run --help" for what it takes.',
    ],
    ["run x.py y", 'unexpected argument "y"\nArguments of the program come after "--".'],
    ["run - --timeout soon", '--timeout is "soon": expected a whole number of seconds from 1 to 2147483'],
    ["run - --timeout=0", '--timeout is "0": expected a whole number of seconds from 1 to 2147483'],
    ["run - --timeout=-1", '--timeout is "-1": expected a whole number of seconds from 1 to 2147483'],
    [
      "run no-such-file.py",
      '"no-such-file.py" does not exist\nGive the path of a Python file, or "-" for stdin.',
    ],
    ["run .", '"." is a directory\nGive the path of a Python file, or "-" for stdin.'],
    ["completions", "SHELL is missing\nGive bash, zsh or fish."],
    ["completions fihs", 'SHELL is "fihs": expected bash, zsh or fish\nDid you mean "fish"?'],
    ["serve x", 'unexpected argument "x"\nType "sandpy serve --help" for what it takes.'],
    ["serve -- x", 'unexpected argument "x"\nType "sandpy serve --help" for what it takes.'],
  ])("%s is said on stderr, with exit code 2", async (words, message) => {
    const world = new CliWorld();
    world.stdin.end("pass");
    const { code, stdout, stderr } = await world.run(...words.split(" "));
    expect([code, stdout, world.events]).toEqual([2, "", []]);
    expect(stderr).toStartWith(`sandpy: ${message}\n`);
  });

  test("in the settings has exit code 3", async () => {
    const world = new CliWorld();
    world.env["MCP_BRIDGE_MEMORY"] = "lots";
    const { code, stdout, stderr } = await world.run("serve");
    expect([code, stdout, world.events]).toEqual([3, "", []]);
    expect(stderr).toStartWith('sandpy: MCP_BRIDGE_MEMORY is "lots": expected ');
  });
});
