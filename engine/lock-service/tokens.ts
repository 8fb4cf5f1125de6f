/**
 * The workers' tokens in the lock service (section 2.2): "other workers can use the existence of
 * this token as a sign that the worker is alive (the token is automatically deleted when the
 * process exits)".
 *
 *     unknown ──▶ alive ──▶ dead ──▶ forgotten, that is unknown
 *                   ▲         │
 *                   └─────────┘ it was alive after all, and has come back
 *
 * A missing token may also mean that the service was restarted and knows no worker. So the service
 * does not report which workers are alive, but which have died: those that were here and are gone.
 * It reports nothing about unknown workers; their locks wait out the time to live. Hence the
 * service may lose everything at any moment: living workers announce themselves again, dead ones
 * are detected more slowly, and no living worker looks dead.
 *
 * What if the service presumes a living worker dead, because its connection broke or it was
 * paused? Other workers may then try to roll its transactions back, and the mutation of the primary
 * decides, as always (P26, presumed dead, alive).
 */
import { BoundedMap, type Clock } from '../base/index.ts';

/** One stay of a worker: one connection. A new connection may announce the same token again. */
export interface Session {
  readonly token: string;
  readonly ttlMs: number;
}

interface Alive {
  readonly session: Session;
  untilMs: number;
}

/**
 * Milliseconds for a worker to reconnect. Too small: a hiccup of the network looks like death. Too
 * large: the locks of a killed process stay that much longer.
 */
const GRACE_MS = 250;
/**
 * How many of the dead the service and its clients remember. Workers that died earlier are unknown
 * again; if one has left a lock, the lock waits out its time to live.
 */
export const DEAD_MAX = 10_000;

export class Tokens {
  readonly #clock: Clock;
  readonly #onChange: (token: string, isDead: boolean) => void;
  readonly #alive = new Map<string, Alive>();
  /** In the order of their first beats: the newest one of a token is the worker's connection. */
  readonly #numbers = new WeakMap<Session, number>();
  #sessions = 0;
  /** In order of death. */
  readonly #dead = new BoundedMap<string, true>(DEAD_MAX);

  constructor(clock: Clock, onChange: (token: string, isDead: boolean) => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get dead(): readonly string[] {
    return [...this.#dead.keys()];
  }

  /** A worker announces itself, or reports that it is still alive. */
  beat(session: Session): void {
    const number = this.#numberOf(session);
    const current = this.#alive.get(session.token)?.session;
    // If the worker has reconnected, this beat waited in the old connection until now.
    if (current !== undefined && this.#numberOf(current) > number) return;
    const untilMs = this.#clock.monotonicMs() + session.ttlMs;
    this.#alive.set(session.token, { session, untilMs });
    if (this.#dead.delete(session.token)) this.#onChange(session.token, false);
  }

  /** The process reports that it exits. */
  leave(session: Session): void {
    if (this.#alive.get(session.token)?.session === session) this.#die(session.token);
  }

  /** The connection is gone: usually the process, too. */
  disconnect(session: Session): void {
    const alive = this.#alive.get(session.token);
    // If the worker has already reconnected, this is the end of its unused old connection.
    if (alive?.session !== session) return;
    alive.untilMs = Math.min(alive.untilMs, this.#clock.monotonicMs() + GRACE_MS);
  }

  /** Marks workers as dead whose time to live is over. */
  expire(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [token, { untilMs }] of this.#alive) if (untilMs <= nowMs) this.#die(token);
  }

  #numberOf(session: Session): number {
    const number = this.#numbers.get(session) ?? this.#sessions++;
    this.#numbers.set(session, number);
    return number;
  }

  #die(token: string): void {
    this.#alive.delete(token);
    this.#dead.set(token, true);
    this.#onChange(token, true);
  }
}
