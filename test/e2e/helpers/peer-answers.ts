/** What a client says that it can answer, and its answers to what servers ask. */
export const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} };
export const FORM = { action: "accept" as const, content: { name: "Ann" } };
export const MESSAGE = {
  role: "assistant" as const,
  model: "m",
  content: { type: "text" as const, text: "forty-two" },
};
export const ROOTS = { roots: [{ uri: "file:///work", name: "the work" }] };
