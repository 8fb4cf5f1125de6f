/**
 * Prints the files that Node loads for some modules, one path a line: the modules, all that they
 * import, and each package.json that decides how Node reads them.
 *
 *     loaded-files <url of a module> ...
 */
import { existsSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

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
  writeFileSync(process.stdout.fd, [...files].join('\n'));
} catch (error) {
  writeFileSync(process.stderr.fd, error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
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
