import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Enums, Models, Serialize, SPDX, Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { type BundledPackage, keyOf, listBundledPackages } from "./bundled-packages.ts";
import { type Release, UNKNOWN_REPOSITORY } from "./facts.ts";

const ROOT = resolve(import.meta.dir, "../..");
const WORDS = "src/upstream/search/words.bin";

/**
 * What is in the binary, as CycloneDX 1.6 in JSON: the packages of npm with their licences and hashes, Bun, the Python that
 * goes into the sandbox, the table of words. The same commit gives the same bytes. Throws when the schema refuses it.
 */
export async function renderSbom(release: Release): Promise<string> {
  const product = describeProduct(release);
  const bom = new Models.Bom({
    serialNumber: `urn:uuid:${stableUuid(`sandpy ${release.version} ${release.commit}`)}`,
    metadata: new Models.Metadata({ timestamp: release.date, component: product }),
  });
  const packages = listBundledPackages();
  const components = new Map(packages.map((each) => [keyOf(each), describePackage(each)]));
  for (const each of packages) {
    const component = components.get(keyOf(each));
    for (const key of each.dependencies) {
      const needed = components.get(key);
      if (component !== undefined && needed !== undefined) component.dependencies.add(needed.bomRef);
    }
  }
  const others = [describeBun(), describeSandbox(release), describeWords()];
  const direct = packages.filter((each) => each.direct).flatMap((each) => components.get(keyOf(each)) ?? []);
  for (const component of [...components.values(), ...others]) bom.components.add(component);
  for (const component of [...direct, ...others]) product.dependencies.add(component.bomRef);
  const serializer = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6));
  const text = serializer.serialize(bom, { sortLists: true, space: 2 });
  const fault = await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text);
  if (fault !== null) throw new Error(`the SBOM does not fit its schema: ${JSON.stringify(fault)}`);
  return `${text}\n`;
}

function describeProduct({ version, repository, license, description }: Release): Models.Component {
  const known = repository !== UNKNOWN_REPOSITORY;
  return new Models.Component(Enums.ComponentType.Application, "sandpy", {
    bomRef: "sandpy",
    version,
    description,
    purl: known ? `pkg:github/${repository.toLowerCase()}@v${version}` : `pkg:generic/sandpy@${version}`,
    licenses: licenses(license),
  });
}

function describePackage(each: BundledPackage): Models.Component {
  const [scope, name] = each.name.startsWith("@") ? each.name.split("/") : [undefined, each.name];
  const purl = `pkg:npm/${each.name.replace("@", "%40")}@${each.version}`;
  return new Models.Component(Enums.ComponentType.Library, name ?? each.name, {
    bomRef: purl,
    ...(scope === undefined ? {} : { group: scope }),
    version: each.version,
    description: each.description,
    purl,
    hashes: new Models.HashDictionary([[Enums.HashAlgorithm["SHA-512"], hexOfIntegrity(each.integrity)]]),
    licenses: licenses(each.license),
    ...(each.homepage === undefined
      ? {}
      : {
          externalReferences: new Models.ExternalReferenceRepository([
            new Models.ExternalReference(each.homepage, Enums.ExternalReferenceType.Website),
          ]),
        }),
  });
}

function describeBun(): Models.Component {
  const purl = `pkg:github/oven-sh/bun@bun-v${Bun.version}`;
  return new Models.Component(Enums.ComponentType.Platform, "bun", {
    bomRef: purl,
    version: Bun.version,
    description:
      "The JavaScript runtime that the binary contains, with JavaScriptCore and other linked libraries.",
    purl,
    licenses: licenses("MIT"),
  });
}

function describeSandbox({ version, license }: Release): Models.Component {
  const files = readdirSync(join(ROOT, "sandbox"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".py"))
    .map((path) => `sandbox/${path.replaceAll("\\", "/")}`);
  const components = files.map(
    (path) => new Models.Component(Enums.ComponentType.File, path, { bomRef: path, hashes: hashesOf(path) }),
  );
  return new Models.Component(Enums.ComponentType.Library, "sandpy-sandbox", {
    bomRef: "sandpy-sandbox",
    version,
    description: "The Python that runs in the container; it uses nothing but the standard library.",
    licenses: licenses(license),
    components: new Models.ComponentRepository(components),
  });
}

function describeWords(): Models.Component {
  return new Models.Component(Enums.ComponentType.Data, WORDS, {
    bomRef: WORDS,
    description:
      "Vectors of words for the search of tools; docs/dependencies.md says what they were made from.",
    hashes: hashesOf(WORDS),
  });
}

function licenses(id: string): Models.LicenseRepository {
  if (!SPDX.isSupportedSpdxId(id)) throw new Error(`"${id}" is no identifier of a licence in SPDX`);
  return new Models.LicenseRepository([new Models.SpdxLicense(id)]);
}

function hashesOf(path: string): Models.HashDictionary {
  const hash = new Bun.CryptoHasher("sha256").update(readFileSync(join(ROOT, path))).digest("hex");
  return new Models.HashDictionary([[Enums.HashAlgorithm["SHA-256"], hash]]);
}

function hexOfIntegrity(integrity: string): string {
  return Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex");
}

/** A UUID of version 8 that is the same for the same text. */
function stableUuid(text: string): string {
  const hex = new Bun.CryptoHasher("sha256").update(text).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
