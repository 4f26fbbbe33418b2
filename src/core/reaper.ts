import { type Child, startChild } from "./child.ts";

/**
 * Lines `+ PID` and `- PID` on its stdin; at the end of it, all that is left of these groups gets SIGTERM after a second
 * and SIGKILL after another. Plain POSIX, since every system has it, at a megabyte of memory where a second copy of us
 * would take fifty. It says nothing: nobody is left to read that a group is gone already, and saying it would end it.
 */
const SCRIPT = `
exec >/dev/null 2>&1
trap '' HUP INT TERM PIPE
pids=' '
while read -r op pid; do
  case $op in
    +) pids="$pids$pid " ;;
    -) case $pids in *" $pid "*) pids="\${pids%%" $pid "*} \${pids#*" $pid "}" ;; esac ;;
  esac
done
case $pids in *[0-9]*) ;; *) exit 0 ;; esac
sleep 1
for pid in $pids; do kill -TERM "-$pid"; done
sleep 1
for pid in $pids; do kill -KILL "-$pid"; done
`;

/**
 * Ends process groups when this process is gone, whatever ended it: also at SIGKILL, where nothing of ours runs any more.
 * A helper process does it, which is started with the first group. Not on Windows, where it does nothing.
 */
export class Reaper {
  readonly #watched = new Set<number>();
  #helper: Promise<Child | undefined> | undefined;

  /** From now on, the group that `pid` leads ends with us. */
  watch(pid: number): void {
    if (process.platform === "win32") return;
    this.#watched.add(pid);
    if (this.#helper === undefined) this.#start();
    else this.#send(`+ ${pid}\n`);
  }

  /** The group has ended; its number may soon be another's. */
  forget(pid: number): void {
    if (this.#watched.delete(pid)) this.#send(`- ${pid}\n`);
  }

  /** Ends the helper. Groups that are still watched are nobody's business any more. */
  async close(): Promise<void> {
    for (const pid of [...this.#watched]) this.forget(pid);
    const helper = await this.#helper;
    helper?.endInput();
    await helper?.exited;
  }

  #start(): void {
    const starting = startChild({
      command: "/bin/sh",
      args: ["-c", SCRIPT],
      env: { PATH: "/usr/bin:/bin" },
      ownGroup: true, // a signal to our own group must not end it
    }).catch(() => undefined); // a system without a shell: what ignores the end of its stdin may outlive us there
    this.#helper = starting;
    this.#send([...this.#watched].map((pid) => `+ ${pid}\n`).join(""));
    void starting.then(async (helper) => {
      await helper?.exited;
      if (this.#helper === starting && helper !== undefined) this.#helper = undefined; // the next group starts another
    });
  }

  #send(lines: string): void {
    void this.#helper?.then((helper) => helper?.write(lines)).catch(() => undefined); // it is gone: see above
  }
}
