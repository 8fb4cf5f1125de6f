/**
 * What a service is to the process that serves it. Apart from server.ts, because who reads the
 * declarations of the engine may have no package of gRPC.
 */
import type { Clock, Warning } from '../base/index.ts';
import type { SecurityOptions } from './tls.ts';

export interface RpcServer extends AsyncDisposable {
  /** Host and port that clients connect to. */
  readonly address: string;
  /** The current warnings. */
  readonly warnings: readonly Warning[];
  /**
   * How often it has refused, since its start: calls, for a role that is too small, and
   * connections, for certificates or handshakes that it does not accept. Only grows.
   */
  readonly refused: { readonly calls: number; readonly connections: number };
  /** Ends all calls and connections at once. Twice is harmless. */
  close(): Promise<void>;
}

export interface ServerOptions extends SecurityOptions {
  /** Host and port. Default: a free port that can be reached from this machine only. */
  readonly address?: string | undefined;
  /**
   * Called when there is a warning and when it is over: that the certificate expires within a week,
   * or that the service is insecure. Default: not called; see `warnings`.
   */
  readonly onWarning?: ((warning: Warning) => unknown) | undefined;
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
}
