/**
 * Prints the files that Node loads for some modules, one path a line: the modules, all that they
 * import, and each package.json in a folder above them, because one of those decides how Node reads
 * a file.
 *
 *     streaming.sh node loaded-files.ts <url of a module> ...
 */
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeFully } from '../bytes.ts';

/** The descriptor that streaming.sh opens: what a module prints while it is loaded is no path. */
const PATHS = 3;

const files = new Set<string>();

registerHooks({
  resolve: (specifier, context, next) => {
    const resolved = next(specifier, context);
    if (resolved.url.startsWith('file:')) add(fileURLToPath(resolved.url));
    return resolved;
  },
});

try {
  for (const url of process.argv.slice(2)) await import(url);
  const paths = Buffer.from([...files].join('\n'));
  writeFully(PATHS, paths, paths.length);
} catch (error) {
  process.exitCode = 1;
  process.stderr.write(error instanceof Error ? error.message : String(error));
}
process.exit(); // A module may have begun something.

function add(file: string): void {
  if (files.has(file) || !existsSync(file)) return;
  files.add(file);
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const description = join(folder, 'package.json');
    if (existsSync(description)) files.add(description);
    if (folder === dirname(folder)) return;
  }
}
