/** Loads what arrives by the schedule. */

/** Captures that are loaded at the same time. The others wait, and latency includes the wait. */
export const IN_FLIGHT = 64;

/** Starts arrivals in their order, at most `IN_FLIGHT` at a time. A failure ends the process. */
export class ArrivalLoader {
  /** All arrivals before this number have come. */
  end = 0;
  #next = 0;
  readonly #loading = new Set<Promise<unknown>>();
  readonly #load: (arrival: number) => Promise<unknown>;

  constructor(load: (arrival: number) => Promise<unknown>) {
    this.#load = load;
  }

  arrived(end: number): void {
    this.end = end;
    this.#fill();
  }

  async done(): Promise<void> {
    while (this.#loading.size > 0) await Promise.race(this.#loading);
  }

  #fill(): void {
    while (this.#next < this.end && this.#loading.size < IN_FLIGHT) {
      const loading = this.#load(this.#next++).then(() => {
        this.#loading.delete(loading);
        this.#fill();
      });
      this.#loading.add(loading);
    }
  }
}
