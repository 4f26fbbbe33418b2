/** Python sources are embedded as text: `import source from "./x.py" with { type: "text" }`. */
declare module "*.py" {
  const source: string;
  // biome-ignore lint/style/noDefaultExport: an asset import has nothing but a default.
  export default source;
}

/** Tables are embedded as files: the import is a path that the process can read, in the binary too. */
declare module "*.bin" {
  const path: string;
  // biome-ignore lint/style/noDefaultExport: an asset import has nothing but a default.
  export default path;
}

/** What a page has inside: `import style from "./x.css" with { type: "text" }`. */
declare module "*.css" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: an asset import has nothing but a default.
  export default text;
}

/** What runs in a browser; as text, like a style. */
declare module "*.client.js" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: an asset import has nothing but a default.
  export default text;
}
