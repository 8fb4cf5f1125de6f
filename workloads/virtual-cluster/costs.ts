/** A calibration, prepared for millions of calls: durations are drawn from tables. */
import { probit } from 'simple-statistics';
import type { Random } from '#engine/base';
import type { Calibration, Duration, RowCost } from './calibration/calibration.ts';

export type OperationKind = 'read' | 'mutate' | 'conditionalMutate' | 'scan';

export type Side = 'serverUs' | 'clientUs';

/** Quantiles of a duration that are drawn with equal chance. */
const QUANTILES = 1_024;

export class Costs {
  readonly calibration: Calibration;
  readonly roundTrip: Drawn;
  readonly logWait: Drawn;
  /** Whether mutations of a server share their way to the log (storage.ts). */
  readonly hasGroups: boolean;
  readonly #kinds: Readonly<Record<OperationKind, RowCost>>;
  readonly #callUs: Readonly<Record<Side, number>>;
  readonly #perByteUs: Readonly<Record<Side, number>>;
  readonly #cardUsPerByte: number;

  constructor(calibration: Calibration, random: Random) {
    const { storage, network, log } = calibration;
    this.calibration = calibration;
    this.roundTrip = new Drawn(network.roundTrip, random.fork('round trips'));
    this.logWait = new Drawn(log.wait, random.fork('waits for the log'));
    this.hasGroups = log.perGroupUs + log.perGroupAsideUs > 0;
    this.#kinds = storage;
    this.#callUs = storage.call.fixed;
    const { serverNs, clientNs } = storage.call.perByte;
    this.#perByteUs = { serverUs: serverNs / 1000, clientUs: clientNs / 1000 };
    this.#cardUsPerByte = 1e6 / network.bytesPerSecond;
  }

  /** The wait of a group for a log that was idle for so long. */
  logWaitUs(idleUs: number): number {
    const { idle, log } = this.calibration;
    const idleMs = Math.min(idle.longestMs, idleUs / 1000);
    return this.logWait.next() + log.waitAfterIdleUs * Math.sqrt(idleMs);
  }

  callUs(side: Side): number {
    return this.#callUs[side];
  }

  rowUs(side: Side, kind: OperationKind): number {
    return this.#kinds[kind].fixed[side];
  }

  /** The server's time for bytes of mutations. */
  writtenUs(bytes: number): number {
    return (this.calibration.storage.writtenByteNs / 1000) * bytes;
  }

  /** The client's time for rows that it gathered in a batch. */
  batchedUs(rows: number): number {
    return this.calibration.storage.batchedRowUs * rows;
  }

  cellsUs(side: Side, kind: OperationKind, cells: number): number {
    return this.#kinds[kind].perCell[side] * cells;
  }

  bytesUs(side: Side, bytes: number): number {
    return this.#perByteUs[side] * bytes;
  }

  /** The server's time in the background for bytes of mutations. */
  maintenanceUs(bytes: number): number {
    return (this.calibration.storage.maintenancePerByteNs / 1000) * bytes;
  }

  /** How long a machine's card takes to send the bytes. */
  cardUs(bytes: number): number {
    return this.#cardUsPerByte * bytes;
  }
}

/** Durations drawn one after the other. */
class Drawn {
  readonly #quantiles: Float64Array;
  readonly #random: Random;

  constructor(duration: Duration, random: Random) {
    this.#random = random;
    const isConstant = duration.medianUs === duration.p99Us;
    const count = isConstant ? 1 : QUANTILES;
    this.#quantiles = Float64Array.from({ length: count }, (_, i) =>
      drawUs(duration, (i + 0.5) / count),
    );
  }

  next(): number {
    const quantiles = this.#quantiles;
    if (quantiles.length === 1) return quantiles[0] ?? 0;
    return quantiles[Math.floor(this.#random.fraction() * QUANTILES)] ?? 0;
  }
}

/* Draws from a `Duration`: log-normal, from its median and its 99th percentile. */

const NORMAL_99 = probit(0.99);

/** @param uniform a random number from 0 to 1; the same one gives the same duration */
export function drawUs({ medianUs, p99Us }: Duration, uniform: number): number {
  if (p99Us === medianUs) return medianUs;
  const sigma = Math.log(p99Us / medianUs) / NORMAL_99;
  // This probit treats exactly 0 and 1 as 0.0001 and 0.9999, which are less extreme than the
  // numbers next to 0 and 1.
  return medianUs * Math.exp(sigma * probit(Math.min(Math.max(uniform, 1e-12), 1 - 1e-12)));
}
