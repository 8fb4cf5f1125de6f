/**
 * Hosts on one machine, and what can be cut between them. Each host is a network namespace with an
 * address of its own, and all are on one bridge; this process is on it, too:
 *
 *     host-1 eth0 ── port-1 ┐
 *     host-2 eth0 ── port-2 ┼─ bridge ── this process
 *     ...                   ┘
 *
 *     unplug, plug     the port goes down: nothing reaches the host, and nothing leaves it
 *     block, unblock   one direction: the host drops what it would send to the other one. What the
 *                      other one sends still arrives, and is never answered. With nft, nothing tells
 *                      a process of it, as in a network that loses packets; without it, the host
 *                      has no route, and a process that connects hears so at once
 *
 * The addresses exist only inside the namespaces that inside.ts has made, and end with them.
 */
import { appendFile, copyFile, readFile } from 'node:fs/promises';
import { execa } from 'execa';
import { isInside } from './inside.ts';

/** Where a process runs; without one, it runs where this process does. */
export interface Host {
  readonly name: string;
  readonly address: string;
  /** The command before a program's own: an absolute path, and its arguments. */
  readonly enter: readonly string[];
}

/** What a host could not send. */
export interface Dropped {
  /** Packets at its interface, which was unplugged. */
  readonly unplugged: number;
  /** Packets to a destination that was blocked. */
  readonly blocked: number;
}

const NETWORK = '10.77.0';
/** Above the hosts' own numbers. */
const OWN_NUMBER = 254;
export const HOSTS_MAX = 32;

export class HostNetwork {
  readonly hosts: readonly Host[];

  readonly #hasNft: boolean;

  private constructor(hosts: readonly Host[], hasNft: boolean) {
    this.hosts = hosts;
    this.#hasNft = hasNft;
  }

  /** May be called once in a process. @param count from 1 to `HOSTS_MAX` */
  static async make(count: number): Promise<HostNetwork> {
    if (!isInside()) throw new Error('hosts are made only by a process that runs inside');
    const { stdout: nsenter } = await execa('sh', ['-c', 'command -v nsenter']);
    const hosts = Array.from({ length: count }, (_, i): Host => {
      const name = `host-${i + 1}`;
      return { name, address: `${NETWORK}.${i + 1}`, enter: [nsenter, `--net=/run/netns/${name}`] };
    });
    await ip('link add bridge type bridge');
    await ip(`addr add ${NETWORK}.${OWN_NUMBER}/24 dev bridge`);
    await ip('link set bridge up');
    for (const host of hosts) await addHost(host);
    await nameHosts(hosts);
    const filtered = hosts.map((host) => onHost(host, ['nft', '-f', '-'], FILTER));
    const hasNft = (await Promise.all(filtered)).every(({ failed }) => !failed);
    return new HostNetwork(hosts, hasNft);
  }

  unplug(host: Host): Promise<void> {
    return ip(`link set ${portOf(host)} down`);
  }

  plug(host: Host): Promise<void> {
    return ip(`link set ${portOf(host)} up`);
  }

  block(from: Host, to: Host): Promise<void> {
    if (this.#hasNft) return filter(from, 'add', to);
    return ip(`-n ${from.name} route replace blackhole ${to.address}/32`);
  }

  unblock(from: Host, to: Host): Promise<void> {
    if (this.#hasNft) return filter(from, 'delete', to);
    return ip(`-n ${from.name} route del blackhole ${to.address}/32`);
  }

  /** Since the host was made. @throws Error if the system does not tell */
  async dropped(host: Host): Promise<Dropped> {
    const { stdout } = await onHost(host, ['cat', '/proc/net/dev', '/proc/net/snmp']);
    if (!this.#hasNft) return droppedIn(stdout);
    const filtered = await onHost(host, ['nft', 'list', 'chain', 'inet', 'cuts', 'out']);
    return droppedIn(stdout, filtered.stdout);
  }
}

/**
 * @param files /proc/net/dev, and /proc/net/snmp after it
 * @param filtered what nft prints of its chain; undefined: the host has no route to what is blocked
 * @throws Error if a counter is not there: a cut that seems to have dropped nothing misleads
 */
export function droppedIn(files: string, filtered?: string): Dropped {
  const ofDevice = /^ *eth0: *(.*)$/m.exec(files)?.[1]?.split(/ +/) ?? [];
  const unplugged = counterOf('eth0 in /proc/net/dev', ofDevice[TRANSMIT_DROP]);
  if (filtered !== undefined) {
    return { unplugged, blocked: counterOf('nft', /packets (\d+)/.exec(filtered)?.[1]) };
  }
  const [names = [], values = []] = [...files.matchAll(/^Ip: (.*)$/gm)].map(([, line = '']) =>
    line.split(' '),
  );
  const blocked = values[names.indexOf('OutNoRoutes')];
  return { unplugged, blocked: counterOf('OutNoRoutes in /proc/net/snmp', blocked) };
}

function counterOf(what: string, text = ''): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new Error(`the packets that a host has dropped cannot be counted: ${what} says nothing`);
}

/** Drops and counts what is for the hosts in the set, which is empty at first. */
const FILTER = `table inet cuts {
  set blocked { type ipv4_addr; }
  chain out {
    type filter hook output priority 0; policy accept;
    ip daddr @blocked counter drop
  }
}`;

async function filter(from: Host, what: 'add' | 'delete', to: Host): Promise<void> {
  const words = ['nft', what, 'element', 'inet', 'cuts', 'blocked', `{ ${to.address} }`];
  const { failed, stderr } = await onHost(from, words);
  if (failed) throw new Error(`${from.name} cannot ${what} what it drops: ${stderr}`);
}

function onHost({ enter: [program = '', ...words] }: Host, command: readonly string[], input = '') {
  return execa(program, [...words, ...command], { reject: false, input });
}

/** The column of /proc/net/dev: eight of what was received come first. */
const TRANSMIT_DROP = 8 + 3;

async function addHost(host: Host): Promise<void> {
  const { name, address } = host;
  await ip(`netns add ${name}`);
  await ip(`link add ${portOf(host)} type veth peer name eth0 netns ${name}`);
  await ip(`link set ${portOf(host)} master bridge up`);
  await ip(`-n ${name} addr add ${address}/24 dev eth0`);
  await ip(`-n ${name} link set lo up`);
  await ip(`-n ${name} link set eth0 up`);
}

function portOf({ name }: Host): string {
  return name.replace('host', 'port');
}

/** Java looks up the name of each address that it connects to, and would wait for an answer. */
async function nameHosts(hosts: readonly Host[]): Promise<void> {
  const file = '/run/hosts';
  await copyFile('/etc/hosts', file).catch(() => {});
  const lines = hosts.map(({ name, address }) => `${address} ${name}\n`);
  await appendFile(file, `\n${lines.join('')}`);
  if ((await readFile('/etc/hosts').catch(() => undefined)) === undefined) return;
  await execa('mount', ['--bind', file, '/etc/hosts']);
}

async function ip(words: string): Promise<void> {
  await execa('ip', words.split(' '));
}
