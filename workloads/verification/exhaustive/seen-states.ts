/**
 * The states seen so far, and how many executions continue from each. One map holds at most some 16
 * million entries, so there are several.
 */
const SHARDS = 16;

export class SeenStates {
  readonly #shards = Array.from({ length: SHARDS }, () => new Map<string, number>());
  /** Only grows. */
  size = 0;

  get(key: string): number | undefined {
    return this.#shardOf(key).get(key);
  }

  set(key: string, executions: number): void {
    const shard = this.#shardOf(key);
    const before = shard.size;
    shard.set(key, executions);
    this.size += shard.size - before;
  }

  #shardOf(key: string): Map<string, number> {
    let sum = 0;
    for (let i = 1; i <= 6; i++) sum += key.charCodeAt(key.length - i);
    return this.#shards[sum % SHARDS] as Map<string, number>;
  }
}
