import { keyOf, listBundledPackages } from "./bundled-packages.ts";

const RULE = "=".repeat(80);

/** The licences of what the binary contains, as they ask to be handed on. */
export function renderNotice(): string {
  const packages = listBundledPackages().map((each) =>
    [
      RULE,
      `${keyOf(each)} (${each.license})`,
      ...(each.homepage === undefined ? [] : [each.homepage]),
      RULE,
      ...Object.values(each.licenseTexts).map((text) => `\n${text.trim()}\n`),
    ].join("\n"),
  );
  return `Sandpy's own licence is in LICENSE. The binary also contains:

${RULE}
Bun ${Bun.version} (MIT)
https://bun.com
${RULE}

The runtime, unchanged. It links JavaScriptCore and parts of WebKit statically, which are under the LGPL, version 2, and
further libraries. All of them, their licences, and how to link Bun with a changed JavaScriptCore are said in
https://github.com/oven-sh/bun/blob/bun-v${Bun.version}/LICENSE.md
To put Sandpy on a Bun of your own, build it from its sources with that Bun: ./scripts/build

${packages.join("\n")}`;
}
