/** What the processes of bench:oracle tell each other. */

export interface Serving {
  readonly kind: 'serving';
  readonly address: string;
}

export interface ClientOptions {
  readonly address: string;
  readonly callers: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

/** A client is connected, and waits to be told to begin, so that all begin together. */
export interface Connected {
  readonly kind: 'connected';
}

/** What a client has measured. */
export interface Measured {
  readonly kind: 'measured';
  /** Timestamps handed to callers. */
  readonly timestamps: number;
  readonly smallest: number;
  readonly largest: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  /** How often a value, in microseconds, was met by the callers that look at the clock. */
  readonly latencies: readonly (readonly [microseconds: number, times: number])[];
}
