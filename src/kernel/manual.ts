import source from "../../sandbox/kernel/manual.py" with { type: "text" };

/** The manual for a model, in Markdown: the same text that `runtime.capability_summary()` gives in the sandbox. */
export const MANUAL: string = (/MANUAL = """\n([\s\S]*?)"""/.exec(source)?.[1] ?? "").trim();
