/** Python sources are embedded as text: `import source from "./x.py" with { type: "text" }`. */
declare module "*.py" {
  const source: string;
  // biome-ignore lint/style/noDefaultExport: an asset import has nothing but a default.
  export default source;
}
