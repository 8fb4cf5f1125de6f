/**
 * A server of pages for the browsers of this machine. Other sites in the same browser are kept out:
 * it listens on the loopback interface alone, and answers only if the request names it as its host,
 * so that a name of another site that suddenly means this machine (DNS rebinding) reads nothing.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { UsageError } from '#results';

const HOST = '127.0.0.1';
/** Node refuses a request with a longer head than this. */
const HEADER_BYTES_MAX = 64 * 1024;
const NAMES = [HOST, 'localhost'];
/** A browser leaves this port out of the name of the host. */
const USUAL_PORT = 80;

const HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

export interface LoopbackServer extends AsyncDisposable {
  /** For a browser. */
  readonly url: string;
}

export interface LoopbackOptions {
  /** 0: a free one. */
  readonly port: number;
  /** The option that names another port, for the sentence of a port that is taken. */
  readonly option: string;
  /** Of the policy of its pages; every answer has it. */
  readonly policy: string;
  /** Answers GET and HEAD, by the path and the parameters of the request. */
  readonly answer: (url: URL | null, response: ServerResponse) => void;
  /** The answer to a request that cannot be answered because of an error. */
  readonly failed: (reason: string) => Content;
}

export interface Content {
  readonly status: number;
  /** Such as `text/html`. */
  readonly type: string;
  readonly text: string;
}

/** @throws UsageError if the port is taken */
export async function openLoopbackServer(options: LoopbackOptions): Promise<LoopbackServer> {
  let hosts: readonly string[] = [];
  const server = createServer({ maxHeaderSize: HEADER_BYTES_MAX }, (request, response) =>
    answer(request, response, { ...options, hosts }),
  );
  server.on('clientError', (error, socket) => {
    const isTooLong = (error as NodeJS.ErrnoException).code === 'HPE_HEADER_OVERFLOW';
    const status = isTooLong ? '431 Request Header Fields Too Large' : '400 Bad Request';
    if (socket.writable) socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
  });
  const port = await listen(server, options);
  // Such as of a process without free file descriptors: that request has no answer, the next may.
  server.on('error', () => {});
  hosts = hostsOf(port);
  return {
    url: `http://${HOST}:${port}/`,
    [Symbol.asyncDispose]: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections(); // The connections of events stay open otherwise.
      await closed;
    },
  };
}

/** What a request may name as its host. */
export function hostsOf(port: number): readonly string[] {
  return [...(port === USUAL_PORT ? NAMES : []), ...NAMES.map((name) => `${name}:${port}`)];
}

async function listen(server: Server, { port, option }: LoopbackOptions): Promise<number> {
  server.listen(port, HOST);
  try {
    await once(server, 'listening');
  } catch (cause) {
    const reason =
      (cause as NodeJS.ErrnoException).code === 'EADDRINUSE' ? 'is in use' : 'cannot be used';
    throw new UsageError(`Port ${port} of ${HOST} ${reason}; ${option} names another.`, { cause });
  }
  return (server.address() as AddressInfo).port;
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: LoopbackOptions & { readonly hosts: readonly string[] },
): void {
  response.setHeader('content-security-policy', options.policy);
  try {
    route(request, response, options);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (response.headersSent) response.destroy();
    else send(response, options.failed(reason));
  }
}

function route(
  request: IncomingMessage,
  response: ServerResponse,
  { hosts, answer: answerAt }: LoopbackOptions & { readonly hosts: readonly string[] },
): void {
  const type = 'text/plain';
  if (!hosts.includes(request.headers.host ?? '')) {
    return send(response, {
      status: 421,
      type,
      text: `This server answers only as ${hosts[0]}.\n`,
    });
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    return send(response, { status: 405, type, text: 'Only GET and HEAD are allowed.\n' });
  }
  const asked = request.url ?? '';
  answerAt(asked.startsWith('/') ? URL.parse(asked, `http://${hosts[0]}`) : null, response);
}

export function send(response: ServerResponse, { status, type, text }: Content): void {
  const bytes = Buffer.from(text);
  const length = { 'content-type': `${type}; charset=utf-8`, 'content-length': bytes.length };
  response.writeHead(status, { ...HEADERS, ...length });
  response.end(response.req.method === 'HEAD' ? undefined : bytes);
}

/** Begins server-sent events; false if only the head was asked for, and the answer is complete. */
export function beginEvents(response: ServerResponse): boolean {
  response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream' });
  if (response.req.method !== 'HEAD') return true;
  response.end();
  return false;
}
