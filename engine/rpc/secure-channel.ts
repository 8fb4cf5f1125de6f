/**
 * A client's end of mutual TLS, for gRPC: each new connection shows the newest certificate.
 *
 * gRPC has channel credentials for certificates that change, but these accept TLS 1.2, hand the
 * system an IP address as a server's name, which Node warns of, and do not say what failed.
 */
import { isIP, type Socket } from 'node:net';
import {
  connect as connectTls,
  createSecureContext,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import type { ChannelCredentials } from '@grpc/grpc-js';
import type { Clock, Warnings } from '../base/index.ts';
import { RENEWAL, usable, warnOfRenewal } from './certificate.ts';
import { Peers } from './peers.ts';
import { grpc } from './service.ts';
import type { TlsSource } from './tls.ts';

export interface SecureChannel {
  /** For one channel; others share no connection with it. */
  credentials(): ChannelCredentials;
  /** Why there is no connection, if there is none; undefined if TLS is not what failed. */
  readonly failure: string | undefined;
  /** To be called when the server has spoken on a connection: it trusts this process. */
  accepted(): void;
  /** Whether the newest identity of the source can be used. Connections from now on show it. */
  takeUp(): boolean;
  /** Ends the watch over the peers' certificates. */
  close(): void;
}

export interface SecureChannelOptions {
  readonly tls: TlsSource;
  readonly clock: Clock;
  /** Hear of new certificates that cannot be used; the former ones stay in use. */
  readonly warnings: Warnings;
  /** Called each minute while a connection is open whose server's certificate expires soon. */
  readonly onEnding: () => void;
}

/** Milliseconds for a handshake, which takes a few and three packets of the network. */
const HANDSHAKE_MS = 5_000;

type Connector = ReturnType<ChannelCredentials['_createSecureConnector']>;

/**
 * @param address as in `host:port`; the server's certificate must name this host
 * @throws INVALID_ARGUMENT if the identity of `tls` cannot be used
 */
export function secureChannel(address: string, options: SecureChannelOptions): SecureChannel {
  const { tls, clock, warnings, onEnding } = options;
  const host = address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  let context = createSecureContext(usable(tls.current()).context);
  let failure: string | undefined;
  const peers = new Peers(clock, onEnding);
  const secure = async (socket: Socket): Promise<TLSSocket> => {
    try {
      const secured = await handshake(socket, { host, context, clock });
      peers.add(secured);
      failure = 'the server ended the connection: it may not trust the certificate of this process';
      return secured;
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
      throw error;
    }
  };
  return {
    credentials: () => credentialsOf(secure),
    get failure() {
      return failure;
    },
    accepted: () => {
      failure = undefined;
    },
    takeUp: () => {
      try {
        context = createSecureContext(usable(tls.current()).context);
        warnings.end(RENEWAL);
        return true;
      } catch (error) {
        warnOfRenewal(warnings, 'this process', error);
        return false;
      }
    },
    close: () => peers.close(),
  };
}

interface Handshake {
  readonly host: string;
  readonly context: SecureContext;
  readonly clock: Clock;
}

async function handshake(socket: Socket, { host, context, clock }: Handshake): Promise<TLSSocket> {
  const secured = connectTls({
    socket,
    host,
    secureContext: context,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ALPNProtocols: ['h2'],
    minVersion: 'TLSv1.3',
  });
  const over = new AbortController();
  // A server that hangs takes connections, because its system does so.
  void clock.sleep(HANDSHAKE_MS, over.signal, { background: true }).then(() => {
    if (over.signal.aborted) return;
    const seconds = HANDSHAKE_MS / 1_000;
    secured.destroy(new Error(`the server has not ended the handshake for ${seconds} s`));
  });
  try {
    await new Promise<void>((resolve, reject) => {
      const closed = (): void => reject(new Error('the connection was closed in its handshake'));
      secured.once('error', reject);
      secured.once('close', closed);
      secured.once('secureConnect', () => {
        secured.off('error', reject);
        secured.off('close', closed);
        resolve();
      });
    });
  } finally {
    over.abort();
  }
  return secured;
}

/** Each is equal only to itself, so that gRPC shares no connection between two identities. */
function credentialsOf(secure: (socket: Socket) => Promise<TLSSocket>): ChannelCredentials {
  const { ChannelCredentials: Base, CallCredentials: Call } = grpc();
  class RenewedCredentials extends Base {
    override _isSecure(): boolean {
      return true;
    }
    override _equals(other: ChannelCredentials): boolean {
      return this === other;
    }
    override _createSecureConnector(): Connector {
      return {
        connect: async (socket) => ({ socket: await secure(socket), secure: true }),
        waitForReady: async () => {},
        getCallCredentials: () => Call.createEmpty(),
        destroy: () => {},
      };
    }
  }
  return new RenewedCredentials();
}
