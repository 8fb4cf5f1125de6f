/**
 * The hosts of a run, as the script that measures sees them: agents on other machines join it, and
 * start the processes of the run there.
 *
 *     this script ──listens, prints a token──▶ an operator starts an agent on each host (agent.ts)
 *           ◀──── TLS 1.3: the certificate is the one that the token names; then the token ────┘
 *           ────▶ the certificates of the run; start this program, tell it that, kill it
 *           ◀──── its messages, its lines, its end
 *
 * The certificate is made for the run, and its fingerprint is half of the token, so an agent talks
 * to this script alone. The other half is a secret, which the agent shows. When all hosts have
 * joined, nothing listens any more: a token is of use to one run.
 *
 * An agent that is lost ends the run. It is lost when its connection is, or after some silence;
 * what it had started kills itself. Nothing here survives a partition, nor is it meant to.
 */
import { randomBytes, timingSafeEqual, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { availableParallelism, networkInterfaces, totalmem } from 'node:os';
import path from 'node:path';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { type StoreName, systemClock } from '#engine';
import { createAuthority, issueCertificate } from '#engine/host';
import { counted, type ResultTable, UsageError } from '#results';
import type { ProgramEnd, ProgramStart, RemoteHost, StartedProgram } from '../processes/program.ts';
import { namedEmulator } from '../stores.ts';
import { tokenText } from './agent.ts';
import { codeVersion, ROOT } from './code-version.ts';
import { identityText, takeIdentity } from './run-identity.ts';
import {
  type AgentDescription,
  type FromAgent,
  type FromCoordinator,
  readFromAgent,
} from './messages.ts';
import { packed, unpacked, Wire } from './wire.ts';

export interface GatherOptions {
  /** Hosts to wait for. */
  readonly count: number;
  /** `host:port` to listen at; undefined: at all addresses of this machine, on a free port. */
  readonly listen: string | undefined;
  readonly signal: AbortSignal;
  /** Is told what to do on the hosts, and who has joined. */
  readonly say: (line: string) => void;
}

export interface RunHosts extends AsyncDisposable {
  /** In the order in which they joined. */
  readonly hosts: readonly RemoteHost[];
  /** Aborted when an agent is lost, with an error that names the host. */
  readonly lost: AbortSignal;
  /** Which host ran what, with its cores and memory. */
  table(): ResultTable;
}

/** How long a connection may take to show its token, in milliseconds. */
const JOIN_MS_MAX = 10_000;
/** Of those that have not joined. */
const CONNECTIONS_MAX = 256;
const SECRET_BYTES = 16;

/**
 * Resolves when all hosts have joined.
 * @throws UsageError if nothing can listen there, or if the hosts cannot reach one another; the
 *   signal's reason
 */
export async function gatherHosts(options: GatherOptions): Promise<RunHosts> {
  options.signal.throwIfAborted();
  const gathering = new Gathering(options);
  await using cleanup = new AsyncDisposableStack();
  cleanup.use(gathering);
  await gathering.listen();
  await gathering.all();
  cleanup.move();
  return gathering;
}

class Gathering implements RunHosts {
  readonly #options: GatherOptions;
  readonly #secret = randomBytes(SECRET_BYTES);
  readonly #server: Server;
  readonly #fingerprint: Buffer;
  readonly #lost = new AbortController();
  /** Connections that have not shown the token yet. */
  readonly #strangers = new Set<TLSSocket>();
  #agents: readonly Agent[] = [];
  #onChange: () => void = () => {};
  #isComplete = false;

  constructor(options: GatherOptions) {
    this.#options = options;
    const nowMs = systemClock.wallMs();
    const named = { name: 'coordinator', role: 'worker', hosts: ['coordinator'], nowMs } as const;
    const { certificate, key } = issueCertificate(createAuthority({ nowMs }), named);
    this.#fingerprint = fingerprintOf(new X509Certificate(certificate));
    this.#server = createServer({
      cert: Buffer.from(certificate),
      key: Buffer.from(key),
      minVersion: 'TLSv1.3',
      handshakeTimeout: JOIN_MS_MAX,
    });
    this.#server.maxConnections = CONNECTIONS_MAX;
    this.#server.on('secureConnection', (socket) => this.#meet(socket));
  }

  get hosts(): readonly RemoteHost[] {
    return this.#agents;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async listen(): Promise<void> {
    const { listen, count, say } = this.#options;
    const [, host, port = '0'] = /^(.+):(\d+)$/.exec(listen ?? '') ?? [];
    if (listen !== undefined && host === undefined) {
      throw new UsageError(`--listen must be host:port, but is ${JSON.stringify(listen)}.`);
    }
    const at = { port: Number(port), ...(host === undefined ? {} : { host: bare(host) }) };
    try {
      this.#server.listen(at);
      await once(this.#server, 'listening');
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new UsageError(`--listen ${listen ?? ''} cannot be used: ${reason}.`, { cause });
    }
    this.#server.on('error', () => {}); // One connection could not be accepted.
    const bound = this.#server.address();
    const number = typeof bound === 'object' ? bound?.port : undefined;
    const token = tokenText(this.#fingerprint, this.#secret);
    say(`Waiting for ${counted(count, 'hosts')}. On each, in a checkout of this version:`);
    say(`  ./run.sh agent --coordinator ${host ?? ownAddress()}:${number} --token ${token}`);
  }

  /** Resolves when all have joined and know the certificates of the run. */
  async all(): Promise<void> {
    const { count, signal } = this.#options;
    const complete = Promise.withResolvers<void>();
    const stop = (): void => complete.reject(signal.reason as Error);
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop(); // It may have been since the listening began.
    this.#onChange = () => {
      if (this.#agents.length === count) complete.resolve();
    };
    try {
      await complete.promise;
    } finally {
      signal.removeEventListener('abort', stop);
    }
    this.#closeDoor();
    const addresses = this.#agents.map(({ address }) => address);
    refuseMixed(this.#agents);
    const text = certifyRun(addresses);
    for (const [i, agent] of this.#agents.entries()) agent.welcome(`host-${i + 1}`, text);
  }

  table(): ResultTable {
    const here = [
      'this one',
      availableParallelism(),
      gigabytes(totalmem()),
      'what measures: load, batch and checks',
    ];
    return {
      name: 'hosts',
      title: 'Hosts',
      caption: 'What ran where. Latencies are taken on the clock of this host alone.',
      columns: ['host', 'cores', 'memory, GB', 'processes'],
      rows: [
        here,
        ...this.#agents.map(({ name, description: { cores, memoryBytes }, roles }) => [
          name,
          cores,
          gigabytes(memoryBytes),
          [...roles].join(', '),
        ]),
      ],
      metrics: null,
    };
  }

  /** The agents end, with all that they have started. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closeDoor();
    for (const agent of this.#agents) agent.dismiss();
  }

  #closeDoor(): void {
    this.#isComplete = true;
    this.#server.close();
    for (const socket of this.#strangers) socket.destroy();
  }

  /** What does not show the token in time stays outside. */
  #meet(socket: TLSSocket): void {
    const late = setTimeout(() => socket.destroy(), JOIN_MS_MAX);
    const known = (): void => {
      clearTimeout(late);
      this.#strangers.delete(socket);
    };
    this.#strangers.add(socket);
    const wire = new Wire<FromAgent, FromCoordinator>(socket, {
      read: readFromAgent,
      onMessage: (message) => {
        if (agent !== undefined) return agent.hear(message);
        known();
        if (message.kind === 'join' && this.#isSecret(message.secret)) {
          agent = this.#admit(wire, socket, message);
        } else wire.cut();
        return undefined;
      },
      onGone: (reason) => {
        known();
        if (agent !== undefined) this.#lose(agent, reason);
      },
    });
    let agent: Agent | undefined;
  }

  #isSecret(given: string): boolean {
    const shown = Buffer.from(given, 'base64url');
    return shown.length === SECRET_BYTES && timingSafeEqual(shown, this.#secret);
  }

  #admit(
    wire: Wire<FromAgent, FromCoordinator>,
    socket: TLSSocket,
    description: AgentDescription,
  ): Agent | undefined {
    const refuse = (sentence: string): undefined => {
      wire.send({ kind: 'refused', sentence });
      wire.close();
      this.#options.say(`An agent on ${description.hostName} was refused. ${sentence}`);
      return undefined;
    };
    const here = codeVersion();
    if (description.version !== here) {
      return refuse(
        `The coordinator has the code of ${here}, and this host that of ${description.version}.`,
      );
    }
    if (this.#isComplete) return refuse('The run has all its hosts already.');
    const seen = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
    const agent = new Agent(wire, description, description.address ?? seen);
    this.#agents = [...this.#agents, agent];
    const { count, say } = this.#options;
    say(
      `${description.hostName} (${agent.address}) has joined: ${this.#agents.length} of ${count}.`,
    );
    this.#onChange();
    return agent;
  }

  #lose(agent: Agent, reason: string): void {
    const { hostName } = agent.description;
    if (!this.#isComplete) {
      this.#agents = this.#agents.filter((one) => one !== agent);
      this.#options.say(`${hostName} (${agent.address}) has left: ${reason}.`);
      return;
    }
    const roles = agent.roles.size === 0 ? 'nothing yet' : [...agent.roles].join(', ');
    const sentence = `${agent.name} (${hostName}, ${agent.address}), which ran ${roles}, is lost: ${reason}`;
    this.#lost.abort(new Error(sentence));
    agent.lose(reason);
  }
}

/**
 * Makes the certificates of a run whose services are at these addresses, for this process and all
 * that it starts (run-identity.ts). Returns them, for those that others start.
 */
export function certifyRun(addresses: readonly string[]): string {
  const nowMs = systemClock.wallMs();
  const authority = createAuthority({ name: 'percolator run', nowMs });
  const hosts = [...new Set(['localhost', '127.0.0.1', ...addresses])];
  const text = identityText(
    issueCertificate(authority, { name: 'percolator run', role: 'admin', hosts, nowMs }),
  );
  takeIdentity(text);
  return text;
}

interface RunningProgram extends Pick<ProgramStart, 'onMessage' | 'onLine'> {
  pid: number;
  readonly end: (end: ProgramEnd) => void;
}

/** A host that has joined. */
class Agent implements RemoteHost {
  readonly description: AgentDescription;
  readonly address: string;
  /** The names of the processes that were started here, in that order. */
  readonly roles = new Set<string>();
  readonly #wire: Wire<FromAgent, FromCoordinator>;
  readonly #programs = new Map<number, RunningProgram>();
  #name: string;
  #lastId = 0;
  #lostBecause: string | undefined;

  constructor(
    wire: Wire<FromAgent, FromCoordinator>,
    description: AgentDescription,
    address: string,
  ) {
    this.#wire = wire;
    this.description = description;
    this.address = address;
    this.#name = description.hostName;
  }

  get name(): string {
    return this.#name;
  }

  welcome(name: string, identity: string): void {
    this.#name = name;
    this.#wire.send({ kind: 'welcome', name, identity });
  }

  start(name: string, { program, options, onMessage, onLine }: ProgramStart): StartedProgram {
    this.roles.add(name);
    const id = ++this.#lastId;
    const ended = Promise.withResolvers<ProgramEnd>();
    const running: RunningProgram = { pid: 0, onMessage, onLine, end: ended.resolve };
    this.#programs.set(id, running);
    const file = path.relative(ROOT, fileURLToPath(program));
    this.#wire.send({ kind: 'start', id, program: file, options: JSON.stringify(options) });
    if (this.#lostBecause !== undefined) this.lose(this.#lostBecause);
    return {
      get pid() {
        return running.pid;
      },
      ended: ended.promise,
      send: (value) => this.#wire.send({ kind: 'message', id, packed: packed(value) }),
      signal: (signal) => this.#wire.send({ kind: 'signal', id, signal }),
      stopFor: async (forMs) => {
        this.#wire.send({ kind: 'stop for', id, forMs });
        await Promise.race([systemClock.sleep(forMs), ended.promise]);
      },
    };
  }

  hear(message: Exclude<FromAgent, { readonly kind: 'beat' }>): void {
    if (message.kind === 'join') return;
    const program = this.#programs.get(message.id);
    if (program === undefined) return;
    if (message.kind === 'started') program.pid = message.pid;
    else if (message.kind === 'message') program.onMessage(unpacked(message.packed));
    else if (message.kind === 'line') program.onLine(message.line);
    else {
      this.#programs.delete(message.id);
      program.end(message.end);
    }
  }

  /** All its processes end: with no connection to their coordinator, they kill themselves. */
  lose(reason: string): void {
    this.#lostBecause = reason;
    for (const [id, { end }] of this.#programs) {
      this.#programs.delete(id);
      end({ isOrderly: false, signal: undefined, how: `was lost with its host: ${reason}` });
    }
  }

  dismiss(): void {
    this.lose('the run is over');
    this.#wire.send({ kind: 'over' });
    this.#wire.close();
  }
}

/** @throws UsageError if a host has an address that only its own machine can reach */
function refuseMixed(agents: readonly Agent[]): void {
  const isOwn = ({ address }: Agent): boolean => isLoopback(address);
  const own = agents.find(isOwn);
  const other = agents.find((agent) => !isOwn(agent));
  if (own === undefined || other === undefined) return;
  throw new UsageError(
    `--hosts: ${own.description.hostName} has joined from ${own.address}, where ${other.description.hostName} ` +
      'cannot reach it: start its agent with --address and an address of that machine that all hosts reach.',
  );
}

/**
 * @param hosts that have joined so far
 * @throws UsageError for a store that is a folder, or on a loopback that the hosts do not share
 */
export function refuseUnreachable(store: StoreName, hosts: readonly RemoteHost[]): void {
  if (store === 'embedded') {
    throw new UsageError(
      '--hosts needs a store that all hosts reach, such as --store hbase://host:port, but --store is embedded, a folder of one machine.',
    );
  }
  if (hosts.every(({ address }) => isLoopback(address))) return;
  const own = addressesOf(store).find((one) => isLoopback(bare(one.replace(/:\d+$/, ''))));
  if (own === undefined) return;
  throw new UsageError(
    `--hosts needs a store that all hosts reach, but that of --store is at ${own}, which only this machine reaches.`,
  );
}

/** A store that is started here is on the loopback, at a port that is not known yet. */
function addressesOf(store: Exclude<StoreName, 'embedded'>): readonly string[] {
  if (store === 'hbase') return ['127.0.0.1'];
  if (store === 'emulator') return [namedEmulator() ?? '127.0.0.1'];
  return store.kind === 'hbase' ? store.servers : [];
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

/** An IPv6 address without its brackets. */
function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
}

/** The first one that is not the loopback; what an operator may have to replace. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((one) => one ?? []);
  const found = all.find(({ family, internal }) => family === 'IPv4' && !internal);
  return found?.address ?? '127.0.0.1';
}

function fingerprintOf(certificate: X509Certificate): Buffer {
  return Buffer.from(certificate.fingerprint256.replaceAll(':', ''), 'hex');
}

function gigabytes(bytes: number): number {
  return Math.round(bytes / 1e8) / 10;
}
