/**
 * How long a reader of changes rests between two looks. After a look that found something, shortly;
 * then longer, as long as nothing changes, and at most `restMsMax`. A hint of the storage that the
 * table has changed ends a rest (`Bigtable.onChange`); one that is lost costs one rest.
 *
 *     changes come:     ──look─1ms─look─2ms─look──
 *     none for long:    ──look───────────250ms───────────look──
 *     a hint:           ──look─────╳look──
 *
 * A look takes time, and a table that changes without pause hints without pause. So a rest is at
 * least as long as the look before it: readers take at most half of a process.
 */
import { PercolatorError } from '../base/index.ts';
import { backoffMs, type Context } from '../transaction/index.ts';

interface RestOptions {
  readonly restMsMax?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const REST_MS_MAX = 250;
/** Milliseconds: the first rest after a look that found something. */
const FIRST_MS = 1;

export class Rest implements Disposable {
  readonly #context: Context;
  readonly #options: RestOptions;
  readonly #endHints: (() => void)[] = [];
  #isWoken = false;
  #resting = new AbortController();
  /** Looks since the last one that found something. */
  #quiet = 0;
  #beganMs: number;
  /** Since when the end could not be reached because of locks. */
  #lockedSinceMs: number | undefined;

  constructor(context: Context, stored: string, options: RestOptions) {
    this.#context = context;
    this.#options = options;
    this.#beganMs = context.clock.monotonicMs();
    const hear = (tables?: ReadonlySet<string>): void => {
      if (tables?.has(stored) ?? true) this.#wake();
    };
    const endHints = context.store.onChange?.(hear);
    if (endHints !== undefined) this.#endHints.push(endHints);
    for (const signal of [options.signal, context.closing.signal]) {
      const stop = (): void => this.#wake();
      signal?.addEventListener('abort', stop);
      this.#endHints.push(() => signal?.removeEventListener('abort', stop));
    }
  }

  /** Called before each look: it may miss what comes from now on. */
  lookBegins(): void {
    this.#isWoken = false;
    this.#beganMs = this.#context.clock.monotonicMs();
  }

  /** The last look has got further, and found so many changes. */
  gotFurther(changes: number): void {
    this.#lockedSinceMs = undefined;
    if (changes > 0) this.#quiet = 0;
  }

  /** @throws STORE_CLOSED */
  async sleep(): Promise<void> {
    const { clock } = this.#context;
    const tookMs = clock.monotonicMs() - this.#beganMs;
    const growing = FIRST_MS * 2 ** Math.min(this.#quiet++, 20);
    await this.#sleepFor(Math.max(FIRST_MS, tookMs), false);
    const { restMsMax = REST_MS_MAX } = this.#options;
    if (!this.#isWoken) await this.#sleepFor(Math.min(restMsMax, growing), true);
  }

  /**
   * For a reader that is to come to an end, and meets live transactions from before it.
   * @throws LOCKED, STORE_CLOSED
   */
  async untilUnlocked(): Promise<void> {
    const { clock, options } = this.#context;
    const nowMs = clock.monotonicMs();
    this.#lockedSinceMs ??= nowMs;
    if (nowMs - this.#lockedSinceMs > options.lockWaitMsMax) {
      const message = `a live transaction holds its lock for longer than ${options.lockWaitMsMax} ms, so the changes are not complete`;
      throw new PercolatorError('LOCKED', message);
    }
    this.#context.counters.lockWaits++;
    await this.#sleepFor(backoffMs(this.#context, ++this.#quiet), false);
  }

  [Symbol.dispose](): void {
    for (const end of this.#endHints) end();
  }

  async #sleepFor(ms: number, canBeWoken: boolean): Promise<void> {
    const { clock, closing } = this.#context;
    const isOver = (): boolean => closing.signal.aborted || this.#options.signal?.aborted === true;
    if (!isOver()) {
      this.#resting = new AbortController();
      const signal = canBeWoken ? this.#resting.signal : closing.signal;
      await clock.sleep(ms, signal);
    }
    closing.refuseNew();
  }

  #wake(): void {
    this.#isWoken = true;
    this.#resting.abort('woken'); // Without a reason, each hint would make an error with a stack.
  }
}
