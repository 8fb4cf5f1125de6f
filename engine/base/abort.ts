/**
 * Waiting that a caller can end: with an `AbortSignal`, as everywhere in JavaScript.
 *
 * An aborted wait rejects with the signal's own reason, as `fetch` does, and not with a
 * `PercolatorError`: it is the caller who has ended it. The work that was waited for goes on in the
 * background, where it comes to its own end; what it answers is dropped.
 */

/**
 * What `work` resolves to. Without a signal it is `work` itself, at no cost.
 * @throws the signal's reason, if it aborts first
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return signal === undefined ? work : raced(work, signal);
}

async function raced<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    // A signal may live as long as the process, and have been waited with a million times.
    signal.removeEventListener('abort', abort);
  }
}
