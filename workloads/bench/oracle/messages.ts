/** The messages between the processes of bench:oracle. */

export interface ServerReady {
  readonly kind: 'serving';
  readonly address: string;
}

export interface ClientOptions {
  readonly address: string;
  readonly callers: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

/** A client is connected, and waits for the command to begin, so that all begin together. */
export interface ClientReady {
  readonly kind: 'connected';
}

/** The measurements of a client. */
export interface ClientResult {
  readonly kind: 'measured';
  /** Timestamps that callers received. */
  readonly timestamps: number;
  readonly smallest: number;
  readonly largest: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  /** Latencies in microseconds with their counts, from the callers that look at the clock. */
  readonly latencies: readonly (readonly [microseconds: number, times: number])[];
}
