/**
 * Mistakes in the HBase client: what it believes of a server that stood still (P64), what it does
 * when a region is elsewhere (P65), and how late it sends (P59, P66).
 */
import type { HBaseKnobs } from '../simulation/index.ts';
import { change, type Mutant } from './mutant.ts';

const CALLS = 'bigtable/hbase/calls.ts';
const FAILURES = 'bigtable/hbase/failures.ts';
const SERVERS = 'bigtable/hbase/servers.ts';

/** Servers are cut off, and go on to answer clients. */
const CUT_OFF: Partial<HBaseKnobs> = { events: { cutOff: 0.5 }, openMsMax: 50, delayMsMax: 20 };

/** Servers stand still until their session ends, and go on to answer clients. */
const STANDING: Partial<HBaseKnobs> = {
  events: {},
  moveInBatch: 0,
  noticeMsMax: 2000,
  openMsMax: 50,
};

const STALE: readonly Mutant[] = [
  {
    rule: 'P64',
    name: 'stale-server-believed',
    mistake: 'What a server says is believed without a proof that it owns its regions.',
    changes: [change(CALLS, '    if (readOnly) return;\n', '    if (!readOnly) return;\n')],
    world: 'hbase',
  },
  {
    rule: 'P64',
    name: 'unmet-condition-believed',
    mistake: 'A condition that did not hold is believed without a proof, since it wrote nothing.',
    changes: [
      change(
        CALLS,
        '      const first = operations.find((_, i) => isSeen(outcomes[i]));\n',
        '      const first = operations.find((_, i) => isSeen(outcomes[i]) && !places[i]?.isConditional);\n',
      ),
    ],
    world: 'hbase',
  },
  {
    rule: 'P64',
    name: 'proof-from-its-arrival',
    mistake: 'A mutation proves that its server owned its regions when its answer came.',
    changes: [
      change(
        SERVERS,
        '  applied(address: string, sent: Moment): void {\n',
        '  applied(address: string, sent: Moment): void {\n    sent = momentOf(this.#options.clock);\n',
      ),
      change(
        SERVERS,
        '      proof.owned = later(proof.owned, now);\n',
        '      proof.owned = later(proof.owned, momentOf(clock));\n',
      ),
    ],
    world: 'hbase',
    // A proof arrives so late that its server has lost its regions, and answers with it.
    cluster: { ...STANDING, calls: { pauseAfterAnswer: 0.04 }, delayMsMax: 1, pauseMsMax: 3500 },
  },
  {
    rule: 'P64',
    name: 'answers-prove-forever',
    mistake: 'Answers prove one another without end, also those of a server that is cut off.',
    changes: [
      change(
        SERVERS,
        '    if (this.isProven(address)) return;\n',
        '    if (this.isProven(address)) {\n      proof.owned = momentOf(this.#options.clock);\n      return;\n    }\n',
      ),
    ],
    world: 'hbase',
    cluster: CUT_OFF,
  },
  {
    rule: 'P64',
    name: 'earlier-proof-taken',
    mistake: 'A proof that was sent before an answer came counts for that answer.',
    changes: [
      change(
        SERVERS,
        '      if (renewal.sent.monotonicMs >= arrived.monotonicMs) return;\n',
        '      return;\n',
      ),
    ],
    world: 'hbase',
    // A server stands still between a proof and its answer, and then answers reads first.
    cluster: { ...STANDING, calls: { pauseBeforeAnswer: 0.05 }, delayMsMax: 20, pauseMsMax: 6000 },
  },
  {
    rule: 'P64',
    name: 'one-proof-for-all-servers',
    mistake: 'A proof of one server is taken for one of every server.',
    changes: [
      change(
        SERVERS,
        '    let proof = this.#proofs.get(address);\n',
        "    address = '';\n    let proof = this.#proofs.get(address);\n",
      ),
    ],
    world: 'hbase',
  },
  {
    rule: 'P64',
    name: 'failed-proof-taken',
    mistake: 'A proof that failed counts.',
    changes: [
      change(
        SERVERS,
        '    const done = prove().then(() => {\n',
        '    const done = prove().catch(() => {}).then(() => {\n',
      ),
    ],
    world: 'hbase',
  },
  {
    rule: 'P64',
    name: 'scan-believed',
    mistake: 'A scan is believed without a proof.',
    changes: [
      change(
        CALLS,
        '        await this.#confirm(region, { row: inRegion(region), family });\n',
        '        void [family, inRegion];\n',
      ),
    ],
    world: 'hbase',
    cluster: CUT_OFF,
  },
];

const MOVED: readonly Mutant[] = [
  {
    rule: 'P65',
    name: 'conditional-sent-again',
    mistake: 'A conditional mutation without an answer is sent again.',
    changes: [
      change(
        FAILURES,
        "  return purpose !== 'conditional' && !(failure.className in REFUSALS);\n",
        '  return !(failure.className in REFUSALS);\n',
      ),
    ],
    world: 'hbase',
  },
  {
    rule: 'P65',
    name: 'any-exception-is-harmless',
    mistake: 'An exception is taken for a promise that nothing was applied.',
    changes: [
      change(
        FAILURES,
        "  if (failure.kind === 'unsent' || BEFORE.has(failure.className)) return true;\n",
        "  if (failure.kind === 'unsent' || failure.kind === 'exception') return true;\n",
      ),
    ],
    world: 'hbase',
  },
  {
    rule: 'P65',
    name: 'doubt-forgotten',
    mistake:
      'A mutation that was in doubt once, and refused when it was repeated, counts as refused.',
    changes: [
      change(CALLS, '        if (isDoubtful) inDoubt.add(index);\n', '        void isDoubtful;\n'),
    ],
    world: 'hbase',
  },
  {
    rule: 'P65',
    name: 'partial-failure-taken-for-done',
    mistake: 'An operation of a batch whose region is gone is taken for done.',
    changes: [
      change(
        CALLS,
        '  if (answer.exception) return exceptionOf(answer.exception);\n',
        '  if (answer.exception) return { result: NO_RESULT, isApplied: true, isWritten: true };\n',
      ),
    ],
    world: 'hbase',
  },
  {
    rule: 'P65',
    name: 'missing-region-taken-for-done',
    mistake: 'A batch for a region that is not there is taken for done.',
    changes: [
      change(
        CALLS,
        '  if (region.exception) return exceptionOf(region.exception);\n',
        '  if (region.exception) return { result: NO_RESULT, isApplied: true, isWritten: true };\n',
      ),
    ],
    world: 'hbase',
  },
  {
    rule: 'P65',
    name: 'answers-by-their-order',
    mistake: 'The answers of a batch are taken in the order in which they come.',
    changes: [
      change(
        CALLS,
        '    (some[place.index]?.index ?? 0) === place.index\n',
        '    some[place.index] !== undefined\n',
      ),
    ],
    world: 'hbase',
  },
  {
    rule: 'P65',
    name: 'moved-region-not-looked-up',
    mistake: 'An operation that found its region gone is sent to the same server again.',
    changes: [
      change(
        CALLS,
        '        this.#options.regions.forget((operations[index] as Operation).table);\n',
        '        void index;\n',
      ),
      change(CALLS, '        regions.forget(table);\n', '        void table;\n'),
    ],
    world: 'hbase',
  },
];

/** Stops of the client's machine in the rests between two tries, and much to try again. */
const STOPPING: Partial<HBaseKnobs> = {
  stopInRest: 0.1,
  events: { move: 0.3, pause: 0.15, crash: 0.15 },
  openMsMax: 2000,
};

const LATE: readonly Mutant[] = [
  {
    rule: 'P59',
    name: 'proof-by-one-clock',
    mistake: 'How old a proof is goes by the monotonic clock alone, which stands in a suspend.',
    changes: [
      change(
        SERVERS,
        'owned !== undefined && isWithin(clock, proofMs, owned)',
        'owned !== undefined && (void isWithin, clock.monotonicMs() - owned.monotonicMs < proofMs)',
      ),
    ],
    world: 'hbase',
    // Servers that answer with what they had are common, and so are rests, in which clients stop.
    cluster: { ...CUT_OFF, calls: { busy: 0.2 }, stopInRest: 0.3, moveInBatch: 0 },
  },
  {
    rule: 'P66',
    name: 'sent-after-a-stop-in-the-rest',
    mistake: 'After a rest, a call is sent again without a look at its deadline.',
    changes: [change(CALLS, '      if (!isWithin(clock, timeoutMs, begun)) return;\n', '')],
    world: 'hbase',
    cluster: STOPPING,
  },
  {
    rule: 'P66',
    name: 'deadline-by-one-clock',
    mistake: 'A deadline goes by the monotonic clock alone, which stands in a suspend.',
    changes: [
      change(
        CALLS,
        '      if (!isWithin(clock, timeoutMs, begun)) return;\n',
        '      if (clock.monotonicMs() - begun.monotonicMs >= timeoutMs) return;\n',
      ),
      change(CALLS, '    if (!isWithin(clock, timeoutMs, begun)) {\n', '    if (leftMs <= 0) {\n'),
    ],
    world: 'hbase',
    cluster: STOPPING,
  },
  {
    rule: 'P66',
    name: 'sent-after-the-search',
    mistake: 'A call is sent although finding the regions has taken until after its deadline.',
    changes: [
      change(
        CALLS,
        '    if (!isWithin(clock, timeoutMs, begun)) {\n',
        '    if (leftMs === Infinity) {\n',
      ),
    ],
    world: 'hbase',
    cluster: STOPPING,
  },
];

export const HBASE: readonly Mutant[] = [...STALE, ...MOVED, ...LATE];
