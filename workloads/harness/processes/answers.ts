/** The answers of a process, one after the other, for a caller that asks one question at a time. */
export class Answers {
  readonly #answers: unknown[] = [];
  #waiting: ((answer: unknown) => void) | undefined;

  /** Pass it to the process as its `onMessage`. */
  readonly take = (answer: unknown): void => {
    if (this.#waiting === undefined) this.#answers.push(answer);
    else this.#waiting(answer);
    this.#waiting = undefined;
  };

  next(): Promise<unknown> {
    if (this.#answers.length > 0) return Promise.resolve(this.#answers.shift());
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }
}
