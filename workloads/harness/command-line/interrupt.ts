/**
 * Ctrl-C and SIGTERM: the first aborts a signal, so that the script keeps what it measured and
 * cleans up; the second exits at once.
 *
 * A terminal sends the signal of ctrl-C to a script and its child processes, and a parent may also
 * pass its signal on to a child. So a second signal of the same kind within half a second counts as
 * the first one.
 */

const SAME_MS = 500;

export interface Interrupt {
  readonly signal: AbortSignal;
  /** Set by the first signal, to the code a shell expects after it: 128 + the signal's number. */
  readonly exitCode: number | null;
  readonly release: () => void;
}

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
