import bootstrap from "../../sandbox/kernel/bootstrap.py" with { type: "text" };

/** The program that the container runs: it reads the payload from stdin and becomes the supervisor. */
export const SANDBOX_COMMAND: readonly string[] = ["python3", "-I", "-u", "-c", bootstrap];
