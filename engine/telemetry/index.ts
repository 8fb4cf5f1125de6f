/** The front door of telemetry: metrics and traces, if a user wants them. */
export { type Metric, METRICS } from './metrics.ts';
export {
  createTelemetry,
  type Reading,
  readingsOfWarnings,
  type Telemetry,
  type TelemetryOptions,
} from './telemetry.ts';
export {
  during,
  type RunCause,
  type StepName,
  type TransactionTrace,
} from './transaction-trace.ts';
