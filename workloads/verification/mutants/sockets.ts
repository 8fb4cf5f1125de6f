/**
 * Mistakes where the simulations have code of their own: in how the processes of a shared store
 * talk to one another (P12, P61, P62, P77, P84), in the connections to HBase (P12, P66), and in
 * those to oracles and lock services (P85, P86).
 */
import type { SocketKnobs } from './worlds.ts';
import { change, type Mutant } from './mutant.ts';

const CLIENT = 'bigtable/embedded/sharing/client.ts';
const SERVICE = 'bigtable/embedded/sharing/service.ts';
const CONNECTION = 'bigtable/hbase/connection.ts';
const FAILURES = 'bigtable/hbase/failures.ts';
const LOCKS_CLIENT = 'lock-service/client.ts';
const LOCKS_SERVER = 'lock-service/server.ts';
const RPC_CLIENT = 'rpc/client.ts';
const RPC_SERVER = 'rpc/server.ts';

const OWNER_DIES: Partial<SocketKnobs> = { faults: ['none', 'half-open'], ownerDies: true };
// A fence would stop what arrives late, even without deadlines.
const HELD: Partial<SocketKnobs> = { faults: ['held'], ownerDies: false, fences: false };
const CUT: Partial<SocketKnobs> = { faults: ['answer cut', 'request cut', 'none'] };

const SHARED: readonly Mutant[] = [
  {
    rule: 'P62',
    name: 'overdue-sent-to-next-owner',
    mistake: 'A process that stood still until it owns the store makes its overdue requests.',
    changes: [
      change(CLIENT, '    this.#refuseOverdue(); // This process may have been stopped', '    //'),
    ],
    world: 'shared store',
    sockets: OWNER_DIES,
  },
  {
    rule: 'P62',
    name: 'owner-takes-overdue',
    mistake: 'The owner takes requests after their deadline.',
    changes: [
      change(SERVICE, 'if (clockMs() > deadlineMs) {', 'if (clockMs() > 9 * deadlineMs) {'),
    ],
    world: 'shared store',
    sockets: HELD,
  },
  {
    rule: 'P62',
    name: 'conditional-sent-to-next-owner',
    mistake: 'A conditional mutation without an answer is sent again.',
    changes: [
      change(CLIENT, 'if (CONDITIONAL.has(waiting.method)) this', 'if (CONDITIONAL.size < 0) this'),
    ],
    world: 'shared store',
    sockets: CUT,
  },
  {
    rule: 'P61',
    name: 'order-lost-when-sent-again',
    mistake: 'What waits for an owner is sent to the next one in another order.',
    changes: [
      change(
        CLIENT,
        'for (const waiting of this.#waiting.values()) if (!waiting.isSent) this.#send(waiting);',
        'for (const waiting of [...this.#waiting.values()].reverse()) if (!waiting.isSent) this.#send(waiting);',
      ),
    ],
    world: 'shared store',
    sockets: CUT,
  },
  {
    rule: 'P61',
    name: 'earlier-deadline-for-marks',
    mistake:
      'The notifications of a commit have an earlier deadline than the commit of the same turn.',
    changes: [
      change(
        CLIENT,
        'deadlineMs: this.#deadlineMs(),',
        "deadlineMs: this.#deadlineMs() - (method === 'mutateRows' ? 300 : 0),",
      ),
    ],
    world: 'shared store',
    sockets: HELD,
  },
  {
    rule: 'P77',
    name: 'answers-kept-without-bound',
    mistake: 'The owner reads for a client whose answers wait, as long as it asks.',
    changes: [change(SERVICE, '      if (this.#isFull) await this.#untilRead();\n', '')],
    world: 'shared store',
    sockets: { misbehaviour: 'reads nothing' },
  },
  {
    rule: 'P77',
    name: 'requests-taken-without-bound',
    mistake: 'The owner takes requests from a client that does not read, as long as it asks.',
    changes: [change(SERVICE, '    this.#socket.pause();\n', '')],
    world: 'shared store',
    sockets: { misbehaviour: 'reads nothing' },
  },
  {
    rule: 'P84',
    name: 'left-in-flight-taken-after-fence',
    mistake: 'After a fence, the owner takes what a client that has gone left in its socket.',
    changes: [change(SERVICE, 'if (this.#isFenced && MUTATIONS', 'if (id < 0 && MUTATIONS')],
    world: 'shared store',
    sockets: { faults: ['left in flight', 'none'], ownerDies: false, fences: true },
  },
];

const HBASE: readonly Mutant[] = [
  {
    rule: 'P12',
    name: 'lost-conditional-sent-again',
    mistake: 'A conditional mutation whose connection was lost is sent again.',
    changes: [
      change(
        FAILURES,
        "if (failure.kind === 'unsent' || BEFORE",
        "if (failure.kind === 'unsent' || failure.kind === 'lost' || BEFORE",
      ),
    ],
    world: 'hbase on sockets',
    sockets: CUT,
  },
  {
    rule: 'P12',
    name: 'lost-taken-for-unsent',
    mistake: 'A call whose connection was lost counts as never sent.',
    changes: [
      change(
        CONNECTION,
        "new HBaseFailure('lost', `the connection to",
        "new HBaseFailure('unsent', `the connection to",
      ),
    ],
    world: 'hbase on sockets',
    sockets: CUT,
  },
];

const SERVICES: readonly Mutant[] = [
  {
    rule: 'P85',
    name: 'one-lock-service-is-enough',
    mistake: 'A process counts as dead if one of several lock services says so.',
    changes: [
      change(
        LOCKS_CLIENT,
        'if (dead?.has(token) === false) return false;',
        'if (dead?.has(token) === true) return true;',
      ),
      change(LOCKS_CLIENT, 'return isReported;', 'return isReported && false;'),
    ],
    world: 'services',
  },
  {
    rule: 'P85',
    name: 'silent-lock-service-keeps-alive',
    mistake: 'A lock service that does not answer counts as one that hears every process.',
    changes: [
      change(
        LOCKS_CLIENT,
        'if (dead?.has(token) === false) return false;',
        'if (dead?.has(token) !== true) return false;',
      ),
    ],
    world: 'services',
  },
  {
    rule: 'P86',
    name: 'answer-of-another-version',
    mistake: 'A client takes an answer of a version that it does not know.',
    changes: [change(RPC_CLIENT, 'checkVersion(`the server at ${this.address}`, answer);', '')],
    world: 'services',
  },
  {
    rule: 'P86',
    name: 'request-of-another-version',
    mistake: 'A server serves a request of a version that it does not know.',
    changes: [change(RPC_SERVER, "checkVersion('the client', request);", '')],
    world: 'services',
  },
  {
    rule: 'P86',
    name: 'dead-of-another-version',
    mistake: 'A process believes a lock service of a version that it does not know.',
    changes: [
      change(LOCKS_CLIENT, 'checkVersion(`the server at ${this.#server.address}`, changes);', ''),
    ],
    world: 'services',
  },
  {
    rule: 'P86',
    name: 'beat-of-another-version',
    mistake: 'A lock service lists a process of a version that it does not know.',
    changes: [change(LOCKS_SERVER, "checkVersion('the client', beat);", '')],
    world: 'services',
  },
];

export const SOCKETS: readonly Mutant[] = [...SHARED, ...HBASE, ...SERVICES];
