import bootstrap from "../../sandbox/kernel/bootstrap.py" with { type: "text" };

/** The program that the container runs: it reads the payload from stdin and becomes the supervisor. */
export const SANDBOX_COMMAND: readonly string[] = ["python3", "-I", "-u", "-c", bootstrap];

/** The same for a container that has descriptors 3 to 5 of ours, which it takes for its standard ones. */
export const HEIR_COMMAND: readonly string[] = [...SANDBOX_COMMAND, "3"];
