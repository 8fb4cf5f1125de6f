/**
 * `./run.sh relock`: rewrites package-lock.json after a change of dependencies, so that `npm ci`
 * accepts it on every platform and from every registry.
 *
 *   1. npm resolves package.json.
 *   2. The address of each package is removed: `npm ci` then uses the configured registry.
 *   3. Optional packages for other platforms that the registry did not offer are added, because
 *      `npm ci` refuses a lockfile that lacks one ("Missing: ... from lock file"). They have no
 *      checksum, which npm could not have known either.
 *
 * It installs nothing: run `npm ci` afterwards.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { runCommand } from '#harness';
import { runNpm } from '../workloads/tools/run-npm.ts';

interface LockedPackage {
  resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

const LOCKFILE = 'package-lock.json';
const SYSTEM = /android|darwin|linux|win32|freebsd|openbsd|netbsd|sunos|aix|openharmony/;
const PROCESSOR = /arm64|x64|ia32|arm|ppc64|riscv64|s390x|loong64|mips64el|wasm32/;

const specification = {
  script: 'relock',
  description:
    'Rewrites package-lock.json after a change of dependencies, so that npm ci accepts it on ' +
    'every platform and from every registry. Installs nothing.',
  options: {},
  examples: [
    { command: './run.sh relock && npm ci', does: 'rewrites the lockfile, then installs from it' },
  ],
};

await runCommand(specification, async () => {
  const cwd = path.join(import.meta.dirname, '..');
  const install = ['install', '--package-lock-only', '--loglevel=error'];
  await runNpm(install, 'resolve the dependencies', { cwd, stdio: 'inherit' });
  process.chdir(cwd);
  const lock = JSON.parse(readFileSync(LOCKFILE, 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  const added: string[] = [];
  for (const entry of Object.values(lock.packages)) {
    delete entry.resolved;
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      const key = `node_modules/${name}`;
      if (key in lock.packages) continue;
      lock.packages[key] = platformPackage(name, version, entry);
      added.push(name);
    }
  }
  const inOrder = Object.entries(lock.packages).toSorted(([a], [b]) => (a < b ? -1 : 1));
  lock.packages = Object.fromEntries(inOrder);
  writeFileSync(LOCKFILE, `${JSON.stringify(lock, null, 2)}\n`);
  process.stdout.write(`${LOCKFILE} is written; ${added.length} platform packages were added.\n`);
});

/**
 * The entry of an optional package as npm writes it, derived from its name, such as
 * `@napi-rs/canvas-win32-x64-msvc`.
 */
function platformPackage(name: string, version: string, wantedBy: LockedPackage): object {
  if (!/^\d/.test(version)) throw new Error(`${name} is wanted as ${version}, not as one version`);
  const system = SYSTEM.exec(name)?.[0];
  const processor = PROCESSOR.exec(name)?.[0];
  const libc = system === 'linux' && /musl|gnu|glibc/.exec(name)?.[0].replace('gnu', 'glibc');
  return {
    version,
    ...(processor !== undefined && { cpu: [processor] }),
    ...((wantedBy.dev ?? wantedBy.devOptional) === true && { dev: true }),
    ...(libc && { libc: [libc] }),
    optional: true,
    ...(system !== undefined && { os: [system] }),
  };
}
