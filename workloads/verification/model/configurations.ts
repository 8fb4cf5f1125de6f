/**
 * What `./run.sh model` checks: each module with the engine's algorithm, under the faults that it
 * must tolerate, and with one mistake put back at a time. A mistake must be found: that is the
 * model's own mutation test.
 */

/** The constants of a module, as TLC's configuration file writes them. */
export type Constants = Readonly<Record<string, string | number | readonly (string | number)[]>>;

export interface Configuration {
  /** Unique; for `--only`. */
  readonly name: string;
  readonly module: 'Leases' | 'SecondPhase';
  /** The rule of engine/protocol.md that it concerns. */
  readonly rule: string;
  readonly constants: Constants;
  /** The invariants, checked in every state. */
  readonly invariants: readonly string[];
  /** Whether the invariants hold, or one of them is broken. */
  readonly expected: 'holds' | 'broken';
  /** Takes minutes to hours; only checked when named or with `--profile full`. */
  readonly isLong?: boolean | undefined;
}

/**
 * P31 in the words of protocol.md, then the two halves of its proof, then the invariant that limits
 * refusals.
 */
const LEASES = [
  'NoReadBelowDeletion',
  'CoveredIsKept',
  'DeletionBelowHorizon',
  'NoCoveredTransactionIsStale',
] as const;

const SECOND_PHASE = [
  'NoRecordComesBack',
  'RecordsHaveData',
  'NoHalfIsRolledBack',
  'NothingOfARolledBack',
  'NoLostUpdate',
] as const;

/** The smallest world in which each mistake can show. */
const SMALL: Constants = {
  Processes: ['process'],
  Slots: [1],
  Collectors: ['collector'],
  LastTimestamp: 2,
  LastRenewal: 2,
  Ttl: 1,
  Skew: 0,
  Faults: [],
  Mistake: 'none',
};

function leases(
  name: string,
  constants: Constants,
  rest: Partial<Configuration> = {},
): Configuration {
  return {
    name,
    module: 'Leases',
    rule: 'P31',
    constants: { ...SMALL, ...constants },
    invariants: LEASES,
    expected: 'holds',
    ...rest,
  };
}

/** The only invariant is the one that the mistake must break. */
function mistake(
  name: string,
  constants: Constants = {},
  rest: Partial<Configuration> = {},
): Configuration {
  return leases(
    name.replaceAll(' ', '-'),
    { Mistake: name, ...constants },
    { expected: 'broken', invariants: ['NoReadBelowDeletion'], ...rest },
  );
}

function secondPhase(
  Mistake: string,
  rule: string,
  rest: Partial<Configuration> = {},
): Configuration {
  return {
    name: Mistake === 'none' ? 'second-phase' : Mistake.replaceAll(/[ ,]+/g, '-'),
    module: 'SecondPhase',
    rule,
    constants: { LastTimestamp: 3, Mistake },
    invariants: SECOND_PHASE,
    expected: 'broken',
    ...rest,
  };
}

const REFUSED = { invariants: ['NoCoveredTransactionIsStale'] } as const;

export const CONFIGURATIONS: readonly Configuration[] = [
  leases('leases-suspended', { Faults: ['suspend'] }, { rule: 'P59' }),
  leases('leases-wall-clock-set', { Faults: ['jump'] }, { rule: 'P59' }),
  leases('leases-missed-ticks', { Ttl: 2, Skew: 1 }),
  leases('leases-slow-answers', { Faults: ['slow answers'] }),
  leases('leases-no-answers', { Faults: ['no answers'] }),
  leases('leases-copies', { Faults: ['copies'] }),
  leases('leases-restarts', { Faults: ['restarts', 'long use'] }),
  leases('leases-two-collectors', { Collectors: ['one', 'other'] }, { isLong: true }),
  leases('leases-two-snapshots', { Slots: [1, 2] }, { isLong: true }),
  leases('leases-two-processes', { Processes: ['A', 'B'] }, { isLong: true }),
  leases('leases-more-renewals', { LastRenewal: 3, LastTimestamp: 3 }, { isLong: true }),
  mistake('bound recorded later'),
  mistake('monotonic clock only', { Faults: ['suspend'] }, { rule: 'P59' }),
  mistake('wall clock only', { Faults: ['jump'] }, { rule: 'P59' }),
  mistake('no margin', { Ttl: 2, Skew: 1 }),
  mistake('no new epoch'),
  mistake('counted from the answer'),
  mistake('pins do not renew'),
  mistake('a pin looks at the horizon first'),
  mistake('old copies count', { Faults: ['copies'] }),
  mistake('no second look'),
  mistake('deletes before it persists'),
  mistake('readers look before they read'),
  mistake('uncovered readers do not look'),
  mistake('timestamp after the leases', {}, REFUSED),
  mistake('no bound before the timestamp', { Faults: ['slow answers'] }, REFUSED),
  mistake('age when the answer comes', { Ttl: 2, Faults: ['slow answers'] }, REFUSED),
  // Not a mistake of the engine: an assumption about clocks (P59).
  leases(
    'suspended-and-set-back',
    { Faults: ['suspend', 'jump'] },
    { expected: 'broken', rule: 'P59', invariants: ['NoReadBelowDeletion'] },
  ),
  secondPhase('none', 'P9', { expected: 'holds' }),
  secondPhase('blind second phase, checked before it is sent', 'P9'),
  // Harmless, but no process can do it: it may always pause between the check and the sending (P9).
  secondPhase('blind second phase, checked as it is sent', 'P9', { expected: 'holds' }),
  secondPhase('the collector does not wait', 'P4'),
  secondPhase('the collector does not resolve locks', 'P30'),
  secondPhase('commits are not validated', 'P31'),
  secondPhase('no markers', 'P1'),
  secondPhase('records refuse no prewrite', 'P14'),
  secondPhase('an absent primary is not looked for again', 'P2'),
];
