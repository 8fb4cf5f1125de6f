/**
 * How a script was started, in which folder its user is, with which command the run can be
 * repeated, and how ctrl-C ends it.
 */
import packageJson from '../../../package.json' with { type: 'json' };

/** The command of a script, in the one form that help and documents use: `./run.sh bench:micro`. */
export function commandOf(script: string): string {
  return `./run.sh ${script}`;
}

export function versionText(): string {
  return `${packageJson.name} ${packageJson.version}`;
}

/**
 * `npm run` starts a script in the folder of the package, and leaves the folder of the caller in
 * INIT_CWD. Relative paths count from there, as they do with `./run.sh`. A script that another npm
 * script has started, in a folder of its choice, stays in that folder: the names differ.
 */
export function goToCaller(script: string): void {
  const { npm_lifecycle_event: started, INIT_CWD: folder } = process.env;
  if (started === script && folder !== undefined) process.chdir(folder);
}

/** Options that change where a result goes, and not the result. */
const OF_OUTPUT: ReadonlyMap<string, { readonly takes: (next: string) => boolean }> = new Map([
  ['--out', { takes: () => true }],
  ['--json', { takes: () => false }],
  ['--fail-on-target', { takes: () => false }],
  ['--verbose', { takes: () => false }],
  ['--watch', { takes: (next: string) => !next.startsWith('-') && next !== '' }],
]);

/** The command that repeats a run into a new folder, quoted for a shell. */
export function repeatingCommand(script: string, argv: readonly string[]): string {
  const kept: string[] = [];
  for (let i = 0; i < argv.length; i++) {
    const [name = '', value] = (argv[i] ?? '').split('=', 2);
    const ofOutput = OF_OUTPUT.get(name);
    if (ofOutput === undefined) kept.push(argv[i] ?? '');
    else if (value === undefined && ofOutput.takes(argv[i + 1] ?? '')) i++;
  }
  return [commandOf(script), ...kept.map(quoteForShell)].join(' ');
}

export function quoteForShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * A terminal sends the signal of ctrl-C to a script and its child processes, and a parent may also
 * pass its signal on to a child. So a second signal of the same kind within this time counts as the
 * first one.
 */
const SAME_MS = 500;

export interface Interrupt {
  readonly signal: AbortSignal;
  /** Set by the first signal, to the code a shell expects after it: 128 + the signal's number. */
  readonly exitCode: number | null;
  readonly release: () => void;
}

/**
 * Of ctrl-C and SIGTERM, the first aborts a signal, so that the script keeps what it measured and
 * cleans up; the second exits at once.
 */
export function abortOnSignals(): Interrupt {
  const controller = new AbortController();
  let exitCode: number | null = null;
  let firstMs = 0;
  const interrupted = (code: number): void => {
    if (exitCode === code && performance.now() - firstMs < SAME_MS) return;
    if (exitCode !== null) process.exit(code);
    exitCode = code;
    firstMs = performance.now();
    process.stderr.write('\nInterrupted; stopping in good order (press again to stop at once).\n');
    controller.abort(new Error('interrupted'));
  };
  const onInterrupt = (): void => interrupted(130);
  const onTerminate = (): void => interrupted(143);
  process.on('SIGINT', onInterrupt).on('SIGTERM', onTerminate);
  return {
    signal: controller.signal,
    get exitCode(): number | null {
      return exitCode;
    },
    release: () => process.off('SIGINT', onInterrupt).off('SIGTERM', onTerminate),
  };
}
