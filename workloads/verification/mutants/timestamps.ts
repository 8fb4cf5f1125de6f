/** Mistakes in handing out timestamps: P35 to P38, and P23. */
import { change, type Mutant } from './mutant.ts';

export const TIMESTAMPS: readonly Mutant[] = [
  {
    rule: 'P35',
    name: 'oracle-trusts-its-range',
    mistake: 'An oracle hands out of its range without looking whether another one has taken over.',
    changes: [
      change(
        'oracle/allocator.ts',
        '      const { range, horizon } = await this.#readRow();\n',
        '      const { range, horizon } = this.#remembered ?? (await this.#readRow());\n      if (this.#remembered === undefined && range.owner === this.#owner) this.#remembered = { range, horizon };\n      else if (this.#next + count > range.limit) this.#remembered = undefined;\n',
      ),
      change(
        'oracle/allocator.ts',
        '  #next: Timestamp = 0;\n',
        '  #next: Timestamp = 0;\n  #remembered: OracleRow | undefined;\n',
      ),
      change('oracle/batching.ts', "assert(first > largest, 'the oracle only moves forward');", ''),
    ],
  },
  {
    rule: 'P36',
    name: 'range-handed-out-before-persisted',
    mistake: 'Timestamps of a range are handed out while it is still being written down.',
    changes: [
      change(
        'oracle/allocator.ts',
        '      const first = await this.#takeRange(range, count);\n      if (first !== undefined) return { first, horizon };\n',
        '      this.#takeRange(range, count).catch(() => {});\n      this.#next = Math.max(this.#next, range.limit) + count;\n      return { first: this.#next - count, horizon };\n',
      ),
      change('oracle/batching.ts', "assert(first > largest, 'the oracle only moves forward');", ''),
    ],
  },
  {
    rule: 'P36',
    name: 'restart-takes-old-range',
    mistake: "An oracle started again takes its predecessor's range for its own.",
    changes: [
      change(
        'oracle/allocator.ts',
        'const owner = options.owner ?? `${entropySeed()}-${entropySeed()}`;',
        'const owner = String(entropySeed).slice(0, 8);',
      ),
      change('oracle/batching.ts', "assert(first > largest, 'the oracle only moves forward');", ''),
    ],
  },
  {
    rule: 'P23',
    name: 'oracles-take-turns-in-vain',
    mistake: 'An oracle that has taken a range looks once more whether it is still its own.',
    changes: [
      change(
        'oracle/allocator.ts',
        '      if (first !== undefined) return { first, horizon };\n',
        '      void [first, horizon];\n',
      ),
    ],
  },
  {
    rule: 'P37',
    name: 'timestamp-handed-out-twice',
    mistake: 'The last timestamp of a batch is also the first one of the next.',
    changes: [
      change(
        'oracle/allocator.ts',
        'this.#next += count;\n          return { first: this.#next - count, horizon };',
        'this.#next += count - 1;\n          return { first: this.#next - count + 1, horizon };',
      ),
      change('oracle/batching.ts', "assert(first > largest, 'the oracle only moves forward');", ''),
    ],
  },
  {
    rule: 'P38',
    name: 'fifteen-digits',
    mistake: 'Write records have room for fifteen digits of a timestamp.',
    changes: [change('transaction/write-record.ts', 'const WIDTH = 16;', 'const WIDTH = 15;')],
  },
  {
    rule: 'P35',
    name: 'lease-of-oracle-never-ends',
    mistake: 'An oracle hands out of its memory when its lease may have ended.',
    changes: [
      change('oracle/leased-allocator.ts', '    if (!this.isLeased) return undefined;\n', ''),
      change('oracle/batching.ts', "assert(first > largest, 'the oracle only moves forward');", ''),
    ],
  },
  {
    rule: 'P35',
    name: 'oracle-takes-over-at-once',
    mistake:
      'An oracle takes the lease over without seeing for a time to live that nobody renews it.',
    changes: [
      change(
        'oracle/leased-allocator.ts',
        'if (nowMs - this.#watched.sinceMs >= found.ttlMs)',
        'if (nowMs >= 0)',
      ),
      change('oracle/batching.ts', "assert(first > largest, 'the oracle only moves forward');", ''),
    ],
  },
  {
    rule: 'P36',
    name: 'leased-range-not-persisted',
    mistake: 'An oracle with the lease hands out more than the row says is given away.',
    changes: [
      change(
        'oracle/leased-allocator.ts',
        'const extension = range === row.range ? [] : setLimit(range);',
        'const extension = row.range.limit > 1 ? [] : setLimit(range);',
      ),
      change('oracle/batching.ts', "assert(first > largest, 'the oracle only moves forward');", ''),
    ],
  },
  {
    rule: 'P31',
    name: 'horizon-forgotten-at-take-over',
    mistake: 'An oracle that takes the lease over does not read how far has been collected.',
    changes: [change('oracle/leased-allocator.ts', '      this.#horizon = row.horizon;\n', '')],
  },
  {
    rule: 'P10',
    name: 'served-by-request-underway',
    mistake: 'Callers who come while a request is underway are served from its answer.',
    changes: [
      change(
        'oracle/batching.ts',
        'const allocation = await source.allocate(callers.length);',
        'const allocation = await source.allocate(callers.length + 4);\n      callers = [...callers, ...waiting.splice(0, 4)];',
      ),
    ],
  },
  {
    rule: 'P35',
    name: 'lease-counted-from-answer',
    mistake: 'An oracle counts its lease from when it hears of the renewal.',
    changes: [
      change('oracle/leased-allocator.ts', '      const sentAt = momentOf(this.#clock);\n', ''),
      change(
        'oracle/leased-allocator.ts',
        '      if (!isOurs) continue;\n',
        '      if (!isOurs) continue;\n      const sentAt = momentOf(this.#clock);\n',
      ),
      change('oracle/batching.ts', "assert(first > largest, 'the oracle only moves forward');", ''),
    ],
  },
  {
    rule: 'P35',
    name: 'lease-renewed-unconditionally',
    mistake: 'An oracle renews its lease without the condition that nobody has taken it over.',
    changes: [
      change(
        'oracle/leased-allocator.ts',
        'const isOurs = await mutateOracleRow(this.#store, asRead, changes);',
        'const isOurs = await mutateOracleRow(this.#store, asRead.slice(-1), changes);',
      ),
      change('oracle/batching.ts', "assert(first > largest, 'the oracle only moves forward');", ''),
    ],
  },
  {
    rule: 'P59',
    name: 'oracle-of-a-suspended-machine',
    mistake: 'An oracle counts on its lease by its monotonic clock alone.',
    changes: [
      change(
        'oracle/leased-allocator.ts',
        'isWithin(this.#clock, this.#ttlMs * COUNTED_ON, since)',
        'this.#clock.monotonicMs() - since.monotonicMs < this.#ttlMs * COUNTED_ON',
      ),
      change('oracle/batching.ts', "assert(first > largest, 'the oracle only moves forward');", ''),
    ],
    favouring: { events: { suspend: 3 }, oracleProcesses: true, leasedOracles: true },
  },
];
