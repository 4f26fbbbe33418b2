import { runChild } from "../../src/core/child.ts";

const PROGRAM = `
import sys, zipfile
folder, name, version, text = sys.argv[1:]
module = name.replace("-", "_")
info = f"{module}-{version}.dist-info"
files = {
    f"{module}.py": text,
    f"{info}/METADATA": f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
}
files[f"{info}/RECORD"] = "".join(f"{path},,\\n" for path in [*files, f"{info}/RECORD"])
with zipfile.ZipFile(f"{folder}/{module}-{version}-py3-none-any.whl", "w") as wheel:
    for path, body in files.items():
        wheel.writestr(path, body)
`;

/** Writes a wheel of one module, named like the package with underscores, into a folder. */
export async function makeWheel(folder: string, name: string, version: string, text: string): Promise<void> {
  const { code, stderr } = await runChild({
    command: "python3",
    args: ["-I", "-c", PROGRAM, folder, name, version, text],
    env: { PATH: process.env["PATH"] ?? "" },
    timeoutMs: 20_000,
  });
  if (code !== 0) throw new Error(`the wheel was not made: ${stderr}`);
}
