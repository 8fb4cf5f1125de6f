/**
 * Sends a call again while it fails for a passing reason, until its deadline.
 *
 * Only for calls that may be sent twice. The last failure is thrown; but if any try may have been
 * applied, the call is in doubt, because an unsent last try says nothing about the earlier ones.
 */
import { type Clock, isWithin, momentOf, PercolatorError } from '../../base/index.ts';
import { failureOf, isPassing } from './failures.ts';

export interface Patience {
  readonly clock: Clock;
  /** Deadline of each call, including retries. */
  readonly timeoutMs: number;
}

const RETRY_MS_MIN = 10;
const RETRY_MS_MAX = 500;

/**
 * Runs `send` until it succeeds, fails for good, or the deadline has passed.
 * @param meaningOf the error of the engine for a failed try
 * @param send makes one try, within the time that is left
 */
export async function retrying<T>(
  { clock, timeoutMs }: Patience,
  meaningOf: (error: unknown) => PercolatorError,
  send: (leftMs: number) => Promise<T>,
): Promise<T> {
  const begunAt = momentOf(clock);
  let isInDoubt = false;
  for (let leftMs = timeoutMs, restMs = RETRY_MS_MIN; ;) {
    try {
      return await send(leftMs);
    } catch (error) {
      const meaning = meaningOf(error);
      isInDoubt ||= meaning.code === 'STORE_IN_DOUBT';
      const isFinal = error instanceof PercolatorError || !isPassing(failureOf(error));
      const mayRest = !isFinal && isWithin(clock, timeoutMs - restMs, begunAt);
      if (mayRest) await clock.sleep(restMs);
      // Checked again after the rest, during which the process may have been suspended.
      if (!mayRest || !isWithin(clock, timeoutMs, begunAt)) {
        throw isInDoubt ? inDoubt(meaning) : meaning;
      }
      leftMs = begunAt.monotonicMs + timeoutMs - clock.monotonicMs();
      restMs = Math.min(2 * restMs, RETRY_MS_MAX);
    }
  }
}

function inDoubt({ message, cause }: PercolatorError): PercolatorError {
  return new PercolatorError('STORE_IN_DOUBT', message, { cause });
}
