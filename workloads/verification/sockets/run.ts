/** What a run on real sockets is given, and what it gives. */
import type { Violation } from '../judges/index.ts';
import type { Misbehaviour } from './crowd.ts';
import type { Load } from './load.ts';
import type { ConnectionFault } from './proxy.ts';

export interface SocketKnobs {
  /** What connections may meet. Default: everything. */
  readonly faults: readonly ConnectionFault[];
  /** Whether the owner of the shared store dies. Default: by the seed. */
  readonly ownerDies: boolean;
  /** Whether the owner sets fences, which also stop what is late. Default: by the seed. */
  readonly fences: boolean;
  /** What other clients of the shared store do, while no connection is disturbed. Default: none. */
  readonly misbehaviour: Misbehaviour;
}

export interface SocketRun {
  readonly violations: readonly Violation[];
  readonly told: Load['told'];
  /** What each connection was to meet. */
  readonly met: readonly ConnectionFault[];
}
