declare const __VERSION__: string;
declare const __COMMIT__: string;

/** The version stamped by `scripts/build` from package.json; `0.0.0-dev` when run from source. */
export const VERSION: string = typeof __VERSION__ === "undefined" ? "0.0.0-dev" : __VERSION__;

/** The git commit stamped by `scripts/build`; `unknown` when run from source. */
export const COMMIT: string = typeof __COMMIT__ === "undefined" ? "unknown" : __COMMIT__;
