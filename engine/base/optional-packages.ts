/**
 * Packages that only some stores and services need. Who uses a folder installs none of them, so the
 * package of the engine names them as optional; where one is missing, the user is told which.
 */
import { PercolatorError } from './errors.ts';

/**
 * What `load` imports.
 * @param purpose what cannot be done without them, as the subject of a sentence
 * @param packages what must be installed, by the names that npm knows
 * @throws PACKAGE_MISSING if one of them is not installed
 */
export async function loadPackages<Modules>(
  purpose: string,
  packages: readonly string[],
  load: () => Promise<Modules>,
): Promise<Modules> {
  try {
    return await load();
  } catch (cause) {
    const missing = packages.find((name) => isMissing(cause, name));
    if (missing === undefined) throw cause;
    const message = `${purpose} needs the package ${missing}, which is not installed; run: npm install ${packages.join(' ')}`;
    throw new PercolatorError('PACKAGE_MISSING', message, { cause });
  }
}

/** A package that is there may lack one of its own: that is another problem. */
function isMissing(error: unknown, name: string): boolean {
  if (!(error instanceof Error)) return false;
  const { code, message } = error as Error & { readonly code?: unknown };
  return code === 'ERR_MODULE_NOT_FOUND' && new RegExp(`['"]${name}['"]`).test(message);
}
