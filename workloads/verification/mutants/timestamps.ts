/**
 * Mistakes in handing out timestamps, and in storing them: P35 to P38, and the oracle's part in
 * P10, P23, P31, P54 and P59.
 */
import { dropsInUse } from '../simulation/loads.ts';
import { change, type Mutant } from './mutant.ts';

/** Without these checks the judges must notice the mistake themselves. */
const UNCHECKED = [
  change('oracle/batching.ts', "assert(first > largest, 'the oracle only moves forward');", ''),
  change('oracle/client.ts', 'if (isCurrent && isNew(answer)) {', 'if (answer !== undefined) {'),
];

export const TIMESTAMPS: readonly Mutant[] = [
  {
    rule: 'P35',
    name: 'oracle-trusts-its-range',
    mistake:
      'An oracle hands out timestamps of its range without a check that no other oracle took over.',
    changes: [
      change(
        'oracle/allocator.ts',
        '      const { range, horizon, drops } = await this.#readRow();\n',
        '      const row = this.#remembered ?? (await this.#readRow());\n      const { range, horizon, drops } = row;\n      if (this.#remembered === undefined && range.owner === this.#owner) this.#remembered = row;\n      else if (this.#next + count > range.limit) this.#remembered = undefined;\n',
      ),
      change(
        'oracle/allocator.ts',
        '  #next: Timestamp = 0;\n',
        '  #next: Timestamp = 0;\n  #remembered: OracleRow | undefined;\n',
      ),
      ...UNCHECKED,
    ],
  },
  {
    rule: 'P36',
    name: 'range-handed-out-before-persisted',
    mistake:
      'Timestamps of a range are handed out while the write that takes it is still in flight.',
    changes: [
      change(
        'oracle/allocator.ts',
        '      const first = await this.#takeRange(range, count);\n      if (first !== undefined) return { first, horizon, drops };\n',
        '      this.#takeRange(range, count).catch(() => {});\n      this.#next = Math.max(this.#next, range.limit) + count;\n      return { first: this.#next - count, horizon, drops };\n',
      ),
      ...UNCHECKED,
    ],
  },
  {
    rule: 'P36',
    name: 'restart-takes-old-range',
    mistake: "A restarted oracle takes its predecessor's range for its own.",
    changes: [
      change(
        'oracle/allocator.ts',
        'const owner = options.owner ?? entropyName();',
        "const owner = 'one-owner';",
      ),
      ...UNCHECKED,
    ],
  },
  {
    rule: 'P23',
    name: 'oracles-take-turns-in-vain',
    mistake:
      'An oracle that took a range checks once more that it still owns it; of oracles in step, none ever does.',
    changes: [
      change(
        'oracle/allocator.ts',
        '      if (first !== undefined) return { first, horizon, drops };\n',
        '      void [first, horizon, drops];\n',
      ),
    ],
  },
  {
    rule: 'P37',
    name: 'timestamp-handed-out-twice',
    mistake: 'The last timestamp of a batch is also the first of the next batch.',
    changes: [
      change(
        'oracle/allocator.ts',
        'this.#next += count;\n          return { first: this.#next - count, horizon, drops };',
        'this.#next += count - 1;\n          return { first: this.#next - count + 1, horizon, drops };',
      ),
      ...UNCHECKED,
    ],
  },
  {
    rule: 'P38',
    name: 'fifteen-digits',
    mistake: 'Write records have room for only fifteen digits of a timestamp.',
    changes: [change('transaction/columns.ts', 'const WIDTH = 16;', 'const WIDTH = 15;')],
  },
  {
    rule: 'P35',
    name: 'lease-of-oracle-never-ends',
    mistake: 'An oracle hands out timestamps from memory when its lease may have ended.',
    changes: [
      change('oracle/leased-allocator.ts', '    if (!this.#mayHandOut) return undefined;\n', ''),
      ...UNCHECKED,
    ],
  },
  {
    rule: 'P35',
    name: 'oracle-takes-over-at-once',
    mistake: 'An oracle takes over the lease before it went unrenewed for a whole time to live.',
    changes: [
      change(
        'oracle/leased-allocator.ts',
        'if (nowMs - this.#watched.sinceMs >= found.ttlMs)',
        'if (nowMs >= 0)',
      ),
      ...UNCHECKED,
    ],
  },
  {
    rule: 'P36',
    name: 'leased-range-not-persisted',
    mistake: 'An oracle with the lease hands out timestamps above the limit in its row.',
    changes: [
      change(
        'oracle/leased-allocator.ts',
        'const extension = range === row.range ? [] : setLimit(range);',
        'const extension = row.range.limit > 1 ? [] : setLimit(range);',
      ),
      ...UNCHECKED,
    ],
  },
  {
    rule: 'P31',
    name: 'horizon-forgotten-at-take-over',
    mistake: 'An oracle that takes over the lease does not read how far collectors have got.',
    changes: [change('oracle/leased-allocator.ts', '      this.#horizon = row.horizon;\n', '')],
  },
  {
    rule: 'P54',
    name: 'drops-forgotten-at-take-over',
    mistake: 'An oracle that takes over the lease does not read how many drops were announced.',
    changes: [change('oracle/leased-allocator.ts', '      this.#drops = row.drops;\n', '')],
    knobs: { drops: true, oracleProcesses: true, leasedOracles: true },
    load: dropsInUse,
  },
  {
    rule: 'P10',
    name: 'served-by-request-in-flight',
    mistake: 'Callers that arrive while a request is in flight are served from its answer.',
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
    mistake: 'An oracle counts its lease from the answer to the renewal, not from its sending.',
    changes: [
      change('oracle/leased-allocator.ts', '      const sentAt = momentOf(this.#clock);\n', ''),
      change(
        'oracle/leased-allocator.ts',
        '      if (!isOurs) continue;\n',
        '      if (!isOurs) continue;\n      const sentAt = momentOf(this.#clock);\n',
      ),
      ...UNCHECKED,
    ],
  },
  {
    rule: 'P35',
    name: 'lease-renewed-unconditionally',
    mistake: 'An oracle renews its lease without the condition that no other oracle took it over.',
    changes: [
      change(
        'oracle/leased-allocator.ts',
        'const isOurs = await mutateOracleRow(this.#store, asRead, changes);',
        'const isOurs = await mutateOracleRow(this.#store, asRead.slice(-1), changes);',
      ),
      ...UNCHECKED,
    ],
  },
  {
    rule: 'P59',
    name: 'oracle-of-a-suspended-machine',
    mistake: 'An oracle relies on its monotonic clock alone to judge its lease valid.',
    changes: [
      change(
        'oracle/leased-allocator.ts',
        'isWithin(this.#clock, this.#ttlMs * COUNTED_ON, since)',
        'this.#clock.monotonicMs() - since.monotonicMs < this.#ttlMs * COUNTED_ON',
      ),
      ...UNCHECKED,
    ],
    knobs: { events: { suspend: 3 }, oracleProcesses: true, leasedOracles: true },
  },
];
