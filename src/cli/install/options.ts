/** What was typed after `sandpy install`. */
export interface InstallOptions {
  readonly wanted: readonly string[];
  readonly isDryRun: boolean;
  readonly list?: boolean | undefined;
  readonly move?: boolean | undefined;
  readonly uninstall?: boolean | undefined;
  readonly scope?: string | undefined;
  readonly command?: string | undefined;
  readonly json?: boolean | undefined;
}
