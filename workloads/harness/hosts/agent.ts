/**
 * The agent of a host: joins a run, starts its processes here, and hands on what they say
 * (coordinator.ts). It ends with the run, and with it all that it has started:
 *
 *     the run is over             the agent kills what is left, and ends
 *     the coordinator is gone     the same, with an error
 *     the agent is killed         each process finds its parent gone, and kills itself (serve.ts)
 *
 * A token lets the script that printed it run code on this host. So the agent talks only to the
 * holder of the certificate that the token names.
 */
import { timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { availableParallelism, hostname, totalmem } from 'node:os';
import path from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { pathToFileURL } from 'node:url';
import { UsageError } from '#results';
import { startHere, type StartedProgram } from '../processes/program.ts';
import { codeVersion, ROOT } from './code-version.ts';
import { takeIdentity } from './run-identity.ts';
import { type FromAgent, type FromCoordinator, readFromCoordinator } from './messages.ts';
import { packed, unpacked, Wire } from './wire.ts';

export interface AgentOptions {
  /** `host:port` of the script that measures. */
  readonly coordinator: string;
  /** As it printed it. */
  readonly token: string;
  /** Where other hosts reach this one; undefined: where the coordinator sees it. */
  readonly address: string | undefined;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

const FINGERPRINT_BYTES = 32;
const TOKEN_BYTES = FINGERPRINT_BYTES + 16;
const CONNECT_MS_MAX = 10_000;

export function tokenText(fingerprint: Uint8Array, secret: Uint8Array): string {
  return Buffer.concat([fingerprint, secret]).toString('hex'); // It never begins with a hyphen.
}

/**
 * Resolves when the run is over.
 * @throws UsageError if it cannot join; an error if the coordinator is lost; the signal's reason
 */
export async function serveAgent(options: AgentOptions): Promise<void> {
  const { coordinator, address, signal, say } = options;
  const token = Buffer.from(options.token, 'hex');
  if (token.length !== TOKEN_BYTES) {
    throw new UsageError(
      '--token must be the text that the coordinator has printed, of 96 characters.',
    );
  }
  refuseAddress(address);
  const socket = await connected(coordinator, token.subarray(0, FINGERPRINT_BYTES), signal);
  const over = Promise.withResolvers<void>();
  const stop = (): void => over.reject(signal.reason as Error);
  signal.addEventListener('abort', stop);
  const programs = new Programs((message) => wire.send(message));
  const wire = new Wire<FromCoordinator, FromAgent>(socket, {
    read: readFromCoordinator,
    onMessage: (message) => {
      if (message.kind === 'over') return over.resolve(programs.killAll());
      if (message.kind === 'refused') {
        return over.reject(
          new UsageError(
            `The coordinator at ${coordinator} refuses this host. ${message.sentence}`,
          ),
        );
      }
      if (message.kind !== 'welcome') return programs.obey(message);
      takeIdentity(message.identity);
      return say(`This host is ${message.name} of the run at ${coordinator}.`);
    },
    onGone: (reason) => {
      const sentence = `The coordinator at ${coordinator} is lost: ${reason}; what it had started here was killed`;
      over.reject(new Error(sentence));
    },
  });
  wire.send({
    kind: 'join',
    secret: token.subarray(FINGERPRINT_BYTES).toString('base64url'),
    address,
    hostName: hostname(),
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    version: codeVersion(),
  });
  say(`Joined the run at ${coordinator}; it begins when all its hosts are there.`);
  try {
    if (signal.aborted) stop();
    await over.promise;
  } finally {
    signal.removeEventListener('abort', stop);
    await programs.killAll();
    wire.close();
  }
}

/** @throws UsageError if no certificate could name it, which the run would find out later */
function refuseAddress(address: string | undefined): void {
  if (address === undefined || isIP(address) !== 0 || /^[a-z0-9.-]+$/i.test(address)) return;
  throw new UsageError(
    `--address must be a name or an IP address, without a port and without brackets, but is ${JSON.stringify(address)}.`,
  );
}

/** @throws UsageError if nothing answers there, or something else than the token names */
async function connected(
  coordinator: string,
  fingerprint: Uint8Array,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const [, host = '', port = ''] = /^(.+):(\d{1,5})$/.exec(coordinator) ?? [];
  if (host === '' || Number(port) > 65_535) {
    throw new UsageError(`--coordinator must be host:port, but is ${JSON.stringify(coordinator)}.`);
  }
  const socket = connect({
    host: host.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port),
    minVersion: 'TLSv1.3',
    // No authority vouches for it: the token names the one certificate that is right.
    rejectUnauthorized: false,
  });
  try {
    const late = AbortSignal.timeout(CONNECT_MS_MAX);
    await once(socket, 'secureConnect', { signal: AbortSignal.any([signal, late]) });
  } catch (cause) {
    socket.destroy();
    signal.throwIfAborted();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`--coordinator ${coordinator} does not answer: ${reason}.`, { cause });
  }
  const shown = socket.getPeerX509Certificate()?.fingerprint256.replaceAll(':', '') ?? '';
  const isRight =
    shown.length === 2 * FINGERPRINT_BYTES &&
    timingSafeEqual(Buffer.from(shown, 'hex'), fingerprint);
  if (isRight) return socket;
  socket.destroy();
  throw new UsageError(
    `--token is not that of the run at ${coordinator}: its certificate is another one.`,
  );
}

type Order = Extract<FromCoordinator, { readonly id: number }>;

/** What this agent has started. */
class Programs {
  readonly #send: (message: FromAgent) => void;
  readonly #running = new Map<number, StartedProgram>();
  #isOver = false;

  constructor(send: (message: FromAgent) => void) {
    this.#send = send;
  }

  obey(order: Order): void {
    if (this.#isOver) return;
    if (order.kind === 'start') {
      this.#start(order);
      return;
    }
    const program = this.#running.get(order.id);
    if (order.kind === 'message') program?.send(unpacked(order.packed));
    else if (order.kind === 'signal') program?.signal(order.signal);
    else void program?.stopFor(order.forMs);
  }

  /** Ends all of them; none is started any more. */
  async killAll(): Promise<void> {
    this.#isOver = true;
    const programs = [...this.#running.values()];
    for (const program of programs) program.signal('SIGKILL');
    await Promise.all(programs.map(({ ended }) => ended));
  }

  #start({ id, program, options }: Extract<Order, { readonly kind: 'start' }>): void {
    const started = startHere({
      program: pathToFileURL(path.join(ROOT, program)),
      options: JSON.parse(options) as unknown,
      onMessage: (message) => this.#send({ kind: 'message', id, packed: packed(message) }),
      onLine: (line) => this.#send({ kind: 'line', id, line }),
    });
    this.#running.set(id, started);
    this.#send({ kind: 'started', id, pid: started.pid });
    void started.ended.then((end) => {
      this.#running.delete(id);
      this.#send({ kind: 'ended', id, end });
    });
  }
}
