export const MASK = "***";
/** How what holds a secret is called: a variable, a header, a flag, an argument. */
export const SECRET_NAME =
  /key|token|secret|passw|passphrase|credential|auth|bearer|cookie|session|signature|\bsig\b|\bpat\b|dsn|database_url|connection/i;
/** How well-known tokens begin, and anything long that mixes letters and digits without a word in it. */
const SECRET_VALUE =
  /^(sk-|pk-|rk_|gh[pousr]_|github_pat_|glpat-|xox[abposr]-|AKIA|ASIA|AIza|ya29\.|eyJ|npm_|pypi-|hf_|shpat_|SG\.)\S{6,}$|^(?=[^\d]*\d)(?=[^a-z]*[a-z])[\w+=-]{24,}$/i;

/** One word without what looks like a secret: a well-known token, the value of a telling name, parts of a URL. */
export function maskWord(word: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(word)) return maskUrl(word);
  const [, name, separator, value] = /^([^=:\s]+)(=|:\s*)(.+)$/s.exec(word) ?? [];
  if (name !== undefined && value !== undefined) {
    return SECRET_NAME.test(name) || SECRET_VALUE.test(value) ? `${name}${separator}${MASK}` : word;
  }
  return SECRET_VALUE.test(word) ? MASK : word;
}

/** A URL without the password and without what its query holds under a telling name. */
export function maskUrl(text: string): string {
  const hidden = text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#@]*@/i, `$1${MASK}@`);
  return hidden
    .replace(/([?&#;])([^=&#;]*)=([^&#;]*)/g, (pair, before: string, name: string, value: string) =>
      SECRET_NAME.test(name) || SECRET_VALUE.test(value) ? `${before}${name}=${MASK}` : pair,
    )
    .replace(/(?<=\/)[^/?#]+/g, (part) => (SECRET_VALUE.test(part) ? MASK : part));
}
