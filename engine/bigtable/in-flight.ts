/**
 * The operations of a store that have begun and not ended: closing waits for them, and refuses what
 * comes later.
 */
import { PercolatorError } from '../base/index.ts';

export class InFlight {
  readonly #name: string;
  #count = 0;
  #becameIdle: (() => void) | undefined;
  #closed: Promise<void> | undefined;

  /** @param name for the error after closing: `the HBase store` */
  constructor(name: string) {
    this.#name = name;
  }

  /** @throws STORE_CLOSED */
  async run<T>(operation: () => Promise<T>): Promise<T> {
    if (this.#closed !== undefined) {
      throw new PercolatorError('STORE_CLOSED', `${this.#name} was closed`);
    }
    this.#count++;
    try {
      return await operation();
    } finally {
      if (--this.#count === 0) this.#becameIdle?.();
    }
  }

  /** Calls `release` when nothing is in flight any more; a second call waits for the first. */
  close(release: () => Promise<void> | void): Promise<void> {
    this.#closed ??= this.#whenIdle().then(release);
    return this.#closed;
  }

  #whenIdle(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#becameIdle = resolve;
    });
  }
}
