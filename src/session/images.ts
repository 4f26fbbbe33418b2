import type { DisplayFrame } from "../kernel/protocol.ts";
import type { DisplayedImage } from "./outcome.ts";

/** The sandbox keeps to these limits too; but code in it can write frames of its own. */
const MAX_IMAGES = 20;
const MAX_CHARS = 24 * 1024 * 1024;

/** The images that one execution showed: at most 20, and 24 Mi characters of base64 in all. */
export class CapturedImages {
  readonly #images: DisplayedImage[] = [];
  #chars = 0;
  #refused = 0;

  add({ mime, data }: DisplayFrame): void {
    if (this.#images.length >= MAX_IMAGES || this.#chars + data.length > MAX_CHARS) {
      this.#refused += 1;
      return;
    }
    this.#chars += data.length;
    this.#images.push({ mimeType: mime, data });
  }

  get images(): readonly DisplayedImage[] {
    return this.#images;
  }

  /** How many did not fit. */
  get refused(): number {
    return this.#refused;
  }
}
