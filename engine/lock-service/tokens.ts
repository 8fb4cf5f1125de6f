/**
 * The tokens of the workers, as the lock service knows them (section 2.2): "other workers can use the existence of this
 * token as a sign that the worker is alive (the token is automatically deleted when the process exits)".
 *
 *     unknown ──▶ alive ──▶ dead ──▶ forgotten, that is unknown
 *                   ▲         │
 *                   └─────────┘ it was not; it has come back
 *
 * A token that does not exist may be that of a worker whose service was started again, and knows nobody any more. So
 * what the service tells is not who is alive but who has died: who was here, and is not any more. Of whom it knows
 * nothing it says nothing, and his locks wait for their time to live. Hence the service may lose everything at any
 * moment: those who live announce themselves again, the dead are found out more slowly, and nobody who lives looks dead.
 *
 * And should it take a living worker for dead, because its connection broke or it was paused? Others may then try to roll
 * its transactions back, and the mutation of the primary decides, as always (P26).
 */
import type { Clock } from '../base/index.ts';

/** Announces one stay of a worker; the same token may be announced again, by a new connection. */
export interface Session {
  readonly token: string;
  readonly ttlMs: number;
}

interface Alive {
  readonly session: Session;
  untilMs: number;
}

/** Milliseconds for a worker to come back whose connection broke. Too small: a hiccup of the network looks like death. */
const GRACE_MS = 250;
/** The dead that are remembered. Who died before them is unknown, and has no locks left by now. */
const DEAD_MAX = 10_000;

export class Tokens {
  readonly #clock: Clock;
  readonly #onChange: (token: string, isDead: boolean) => void;
  readonly #alive = new Map<string, Alive>();
  /** In the order in which they died. */
  readonly #dead = new Set<string>();

  constructor(clock: Clock, onChange: (token: string, isDead: boolean) => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get dead(): readonly string[] {
    return [...this.#dead];
  }

  /** A worker announces itself, or says that it is still there. */
  beat(session: Session): void {
    const untilMs = this.#clock.monotonicMs() + session.ttlMs;
    this.#alive.set(session.token, { session, untilMs });
    if (this.#dead.delete(session.token)) this.#onChange(session.token, false);
  }

  /** The process says that it exits. */
  leave(session: Session): void {
    if (this.#alive.get(session.token)?.session === session) this.#die(session.token);
  }

  /** The connection is gone: usually the process, too. */
  disconnect(session: Session): void {
    const alive = this.#alive.get(session.token);
    // If it has come back already, this is the end of a connection that nobody uses any more.
    if (alive?.session !== session) return;
    alive.untilMs = Math.min(alive.untilMs, this.#clock.monotonicMs() + GRACE_MS);
  }

  /** Buries those whose time is over. */
  expire(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [token, { untilMs }] of this.#alive) if (untilMs <= nowMs) this.#die(token);
  }

  #die(token: string): void {
    this.#alive.delete(token);
    this.#dead.add(token);
    const [oldest] = this.#dead;
    if (this.#dead.size > DEAD_MAX && oldest !== undefined) this.#dead.delete(oldest);
    this.#onChange(token, true);
  }
}
