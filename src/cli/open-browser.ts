import { startChild } from "../core/child.ts";
import { withDeadline } from "../core/lifecycle.ts";

const START_MS = 5000;

type Environment = Readonly<Record<string, string>>;

/** Opens a page in the user's browser; whether something was there that does it. It may go on after we end. */
export async function openBrowser(
  url: string,
  env: Environment,
  platform = process.platform,
): Promise<boolean> {
  const words = browserCommand(url, env, platform);
  if (words === undefined) return false;
  const [command = "", ...args] = words;
  try {
    const child = await startChild({ command, args, env, ownGroup: true });
    child.endInput();
    const { code } = await withDeadline(child.exited, START_MS, "the start of the browser");
    return code === 0;
  } catch {
    return false; // the address is on the screen in any case
  }
}

/** The words that open a page; `undefined` where nobody sits at a screen. */
function browserCommand(url: string, env: Environment, platform: NodeJS.Platform): string[] | undefined {
  if (platform === "darwin") return ["open", url];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler", url];
  const hasScreen = ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME"].some((name) => env[name]);
  // A browser that it starts must not hold our pipes, nor end with them.
  const script = 'command -v xdg-open >/dev/null || exit 1; xdg-open "$1" </dev/null >/dev/null 2>&1 &';
  return hasScreen ? ["sh", "-c", script, "sh", url] : undefined;
}
