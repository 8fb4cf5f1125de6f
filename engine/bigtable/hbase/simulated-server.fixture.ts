/** The simulated HBase, reached through sockets: client and server exchange HBase's own bytes. */
import { once } from 'node:events';
import { type AddressInfo, createServer as createPlain, type Server, type Socket } from 'node:net';
import { createServer as createTls, type TlsOptions } from 'node:tls';
import { JavaException } from '../../testing/hbase/answers.ts';
import { type Services, servicesOf } from '../../testing/hbase/services.ts';
import { SimulatedHBase, type SimulatedHBaseOptions } from '../../testing/hbase/simulated-hbase.ts';
import { Frames } from './connection.ts';
import { messageOf, readerOf } from './messages.ts';

export interface ServedHBase extends AsyncDisposable {
  readonly hbase: SimulatedHBase;
  /** `host:port` of the master. */
  readonly master: string;
}

const PREAMBLE_BYTES = 6;
/** The last byte of the preamble: a caller says its name, without Kerberos. */
const SIMPLE = 80;
const KERBEROS = 81;
/** The answer to a caller with Kerberos: go on without. In the place of a token's length. */
const WITHOUT = -88;
/** The number of an answer for the whole connection: HBase's -1, in a field of type uint32. */
const FOR_ALL = 2 ** 32 - 1;

export async function serveHBase({
  host = '127.0.0.1',
  tls,
  asksForKerberos = false,
  front = async (listener) => listener,
  ...options
}: {
  /** The name under which clients are to connect. */
  readonly host?: string;
  readonly tls?: TlsOptions;
  readonly asksForKerberos?: boolean;
  /** Puts something in front of a server: what clients connect to instead of it. */
  readonly front?: (listener: Server) => Promise<Server>;
} & Partial<SimulatedHBaseOptions> = {}): Promise<ServedHBase> {
  const sockets = new Set<Socket>();
  const addresses = new Map<Server, string>();
  const listeners = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const accept = (socket: Socket): void => {
        sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => sockets.delete(socket));
        serve(socket, addressOf(listener), { asksForKerberos, services: () => services });
      };
      const listener: Server = tls === undefined ? createPlain(accept) : createTls(tls, accept);
      listener.on('tlsClientError', () => {});
      await once(listener.listen(0, '127.0.0.1'), 'listening');
      addresses.set(listener, `${host}:${portOf(await front(listener))}`);
      return listener;
    }),
  );
  const addressOf = (listener: Server): string => addresses.get(listener) ?? '';
  const [master = '', ...servers] = listeners.map(addressOf);
  const hbase = new SimulatedHBase({ master, servers, ...options });
  const services = servicesOf(hbase);
  return {
    hbase,
    master,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await Promise.all(listeners.map((listener) => once(listener.close(), 'close')));
    },
  };
}

function portOf(listener: Server): number {
  return (listener.address() as AddressInfo).port;
}

/** The preamble, the header of the connection, and then calls. */
function serve(
  socket: Socket,
  address: string,
  { asksForKerberos, services }: { asksForKerberos: boolean; services: () => Services },
): void {
  const frames = new Frames();
  let preamble = Buffer.alloc(0);
  let service: string | undefined;
  socket.on('data', (bytes: Buffer) => {
    let rest = bytes;
    if (preamble.length < PREAMBLE_BYTES) {
      const missing = PREAMBLE_BYTES - preamble.length;
      preamble = Buffer.concat([preamble, bytes.subarray(0, missing)]);
      rest = bytes.subarray(missing);
      if (preamble.length < PREAMBLE_BYTES) return;
      const authentication = preamble[PREAMBLE_BYTES - 1];
      if (asksForKerberos && authentication === SIMPLE) return refuse(socket);
      if (authentication === KERBEROS) return sendBack(socket);
    }
    for (const frame of frames.add(rest)) {
      if (service === undefined) service = serviceOf(frame);
      else socket.write(answerTo(frame, address, service, services()));
    }
  });
}

/** As ServerRpcConnection.processPreamble does. */
function refuse(socket: Socket): void {
  const { className, stackTrace } = new JavaException(
    'AccessDeniedException',
    'Authentication is required',
  );
  const exception = { exceptionClassName: className, stackTrace };
  socket.end(framed(messageOf('ResponseHeader').append({ callId: FOR_ALL, exception }).finish()));
}

/** As ServerRpcConnection does where security is off; what it would read then does not matter. */
function sendBack(socket: Socket): void {
  const answer = Buffer.alloc(8);
  answer.writeInt32BE(WITHOUT, 4);
  socket.end(answer);
}

function serviceOf(frame: Buffer): string {
  return messageOf<{ readonly serviceName: string }>('ConnectionHeader').decode(frame).serviceName;
}

function answerTo(frame: Buffer, address: string, service: string, services: Services): Buffer {
  const reader = readerOf(frame);
  const header = messageOf('RequestHeader').read(reader) as { callId: number; methodName: string };
  const answer = services(address, service, header.methodName, frame.subarray(reader.pos));
  const head = messageOf('ResponseHeader');
  if ('exception' in answer) {
    const { className: exceptionClassName, stackTrace } = answer.exception;
    const exception = { exceptionClassName, stackTrace };
    return framed(head.append({ callId: header.callId, exception }).finish());
  }
  const writer = head.append({ callId: header.callId });
  return framed(writer.bytes(answer.message).finish());
}

function framed(body: Uint8Array): Buffer {
  const frame = Buffer.alloc(4 + body.length);
  frame.writeUInt32BE(body.length, 0);
  frame.set(body, 4);
  return frame;
}
