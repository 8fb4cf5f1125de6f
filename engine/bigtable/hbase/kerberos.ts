/**
 * Kerberos on a connection to HBase: before the first call, the server learns who the client's user
 * is, and the client that it has reached the server. The exchange is SASL's with its mechanism
 * GSSAPI (RFC 4752); each token follows its length in four bytes:
 *
 *     client                                      server
 *     "HBas", version 0, authentication 81
 *     the user's ticket for the server      ─▶
 *                                           ◀─    0, and the proof that it can read the ticket
 *     nothing                               ─▶
 *                                           ◀─    0, and the layers that it offers for what follows
 *     the layer: none                       ─▶
 *     header of the connection, calls       ─▶
 *
 * Instead of a token, the server may send an exception (1, its class, its message), or 0 and -88:
 * it has no Kerberos, and would go on without. That is refused: a stranger in the server's place
 * could say so, too.
 *
 * The tokens are made and read by the system's own library, which the package `kerberos` calls. It
 * takes the ticket from where `kinit` has put it, for each connection anew, so renewed tickets need
 * no restart. An open connection outlives its ticket, because HBase looks at tickets only here.
 *
 * Not here: the layers that sign or encrypt each message, which the package cannot choose. TLS does
 * the same, and HBase speaks both at once.
 */
import type { Socket } from 'node:net';
import { loadPackages, PercolatorError } from '../../base/index.ts';
import type { OptionRule } from '../../base/options.ts';
import { HBaseFailure } from './failures.ts';

/** One side of an exchange, as the package `kerberos` gives it. Its tokens are in Base64. */
export interface SecurityContext {
  /** @returns the next token for the server; null if there is none */
  step(token: string): Promise<string | null>;
  /** Whether the server has proven who it is. */
  readonly contextComplete: boolean;
  unwrap(token: string): Promise<string>;
  wrap(token: string, options: { readonly user: string }): Promise<string>;
}

/** Begins an exchange with a service such as `hbase@host`. */
export type BeginContext = (service: string) => Promise<SecurityContext>;

const PREAMBLE = Buffer.from([...Buffer.from('HBas'), 0, 81]);
const SUCCESS = 0;
const FAILURE = 1;
/** In the place of a length. */
const NO_KERBEROS = -88;
/** A ticket that carries many groups of Windows has up to 64 KB. */
const TOKEN_BYTES_MAX = 1 << 20;
/** The first byte of a server's offer has a bit for each; the client answers with one of them. */
const LAYERS = { none: 1, integrity: 2, privacy: 4 } as const;

const PRINCIPAL_FORM =
  /^(?<service>[\w.-]+)\/(?<host>_HOST|[a-z\d](?:[a-z\d.-]*[a-z\d])?)(?:@(?<realm>[\w.-]+))?$/;

/** Of the option `principal`. */
export const PRINCIPAL: OptionRule = {
  expected: 'a principal like hbase/_HOST or hbase/_HOST@REALM',
  accepts: (value) => typeof value === 'string' && PRINCIPAL_FORM.test(value),
};

/**
 * Why client and server do not accept each other; no call was sent. `isLasting` if another try is
 * of no use until a person has changed something.
 */
export class KerberosFailure extends HBaseFailure {
  readonly isLasting: boolean;

  constructor(message: string, { isLasting, cause }: { isLasting: boolean; cause?: unknown }) {
    super('unsent', message, '', cause);
    this.isLasting = isLasting;
  }
}

/** For all connections of a store. */
export class Kerberos {
  readonly #principal: string;
  readonly #begin: BeginContext;
  #lastTicket: Promise<unknown> = Promise.resolve();

  /** @param principal of the servers, as `PRINCIPAL` accepts it; `_HOST` is the host of each */
  constructor(principal: string, begin: BeginContext) {
    this.#principal = principal;
    this.#begin = begin;
  }

  /**
   * Resolves when the server waits for the header of the connection; else, the socket is destroyed.
   * @param address `host:port` of the server
   * @throws KerberosFailure; STORE_REFUSED if the server has no Kerberos, or demands a layer
   */
  async authenticate(socket: Socket, address: string): Promise<void> {
    const answers = new Answers(socket);
    try {
      // The library may wait for a key distribution center long after the socket is gone.
      await Promise.race([this.#exchange(socket, answers, address), answers.ended]);
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      answers.leave();
    }
  }

  async #exchange(socket: Socket, answers: Answers, address: string): Promise<void> {
    const { context, ticket } = await this.#ticketFor(address, socket);
    socket.write(PREAMBLE);
    sendToken(socket, ticket);
    while (!context.contextComplete) {
      const proof = await tokenFrom(answers, address);
      sendToken(socket, (await context.step(proof).catch(isUnproven)) ?? '');
    }
    const offer = await context.unwrap(await tokenFrom(answers, address)).catch(isUnproven);
    sendToken(socket, await context.wrap(layerOf(offer, address), { user: '' }));

    function isUnproven(cause: unknown): never {
      const message = `the HBase server ${address} does not prove who it is: ${reasonOf(cause)}`;
      throw new KerberosFailure(message, { isLasting: false, cause });
    }
  }

  /**
   * One connection after the other asks for its ticket: while a key distribution center does not
   * answer, the library holds one of the few threads that Node has for files and names.
   */
  async #ticketFor(
    address: string,
    socket: Socket,
  ): Promise<{ readonly context: SecurityContext; readonly ticket: string }> {
    const { service = '', host: named = '' } = PRINCIPAL_FORM.exec(this.#principal)?.groups ?? {};
    const host = named === '_HOST' ? hostOf(address) : named;
    const taken = this.#lastTicket.then(async () => {
      if (socket.destroyed) throw new Error('the connection was closed');
      const context = await this.#begin(`${service}@${host}`);
      return { context, ticket: (await context.step('')) ?? '' };
    });
    this.#lastTicket = taken.catch(() => {});
    const found = await taken.catch((error: unknown) => {
      throw noTicket(`${service}/${host}`, address, error);
    });
    this.#checkTicket(found.ticket, address);
    return found;
  }

  /** The library chooses the realm by krb5.conf, and may ask DNS for another name of the host. */
  #checkTicket(ticket: string, address: string): void {
    const { host = '', realm } = PRINCIPAL_FORM.exec(this.#principal)?.groups ?? {};
    const found = serviceIn(Buffer.from(ticket, 'base64'));
    const isOfHost = host === '_HOST' || found?.name[1] === host;
    if (isOfHost && (realm === undefined || found?.realm === realm)) return;
    const of = found === undefined ? 'unreadable' : `for ${found.name.join('/')}@${found.realm}`;
    const message =
      `the Kerberos ticket for the HBase server ${address} is ${of}, and principal is ` +
      `${this.#principal}; [domain_realm] of krb5.conf says which realm a host is in`;
    throw new KerberosFailure(message, { isLasting: true });
  }
}

/** The name or address of a server, without its port. */
export function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(':')).replaceAll(/^\[|\]$/g, '');
}

function noTicket(principal: string, address: string, cause: unknown): HBaseFailure {
  const reason = reasonOf(cause);
  const [, advice = ''] = ADVICE.find(([said]) => said.test(reason)) ?? [];
  const message = `no Kerberos ticket for the HBase server ${address} (${principal}): ${reason}${advice}`;
  if (PASSING.test(reason)) return new HBaseFailure('unsent', message, '', cause);
  return new KerberosFailure(message, { isLasting: true, cause });
}

const ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /not found in Kerberos database/i,
    '; principal must be the one in the hbase-site.xml of the servers',
  ],
  [/credentials|expired/i, '; kinit gets a new one, into the cache that KRB5CCNAME names'],
];
/** The network may be at fault, or this process. */
const PASSING = /contact any KDC|resolve|connection was closed/i;

/** The library says first what holds for every mistake, and then what is wrong. */
function reasonOf(error: unknown): string {
  const [line = ''] = (error as Error).message.split('\n', 1);
  return line.replace(/^.*?(?:more information|inaccessible): /, '');
}

/** @throws STORE_REFUSED if the server does not go on without a layer */
function layerOf(offer: string, address: string): string {
  const [layers = 0] = Buffer.from(offer, 'base64');
  if ((layers & LAYERS.none) === 0) {
    const demanded = (layers & LAYERS.integrity) === 0 ? 'privacy' : 'integrity';
    throw new PercolatorError(
      'STORE_REFUSED',
      `the HBase server ${address} demands Kerberos with ${demanded} (hbase.rpc.protection), which ` +
        'this client does not speak; let it also accept authentication, and use TLS (hbases://)',
    );
  }
  // Three zeros: without a layer, there is no message of it whose size could be bounded.
  return Buffer.from([LAYERS.none, 0, 0, 0]).toString('base64');
}

function sendToken(socket: Socket, token: string): void {
  const bytes = Buffer.from(token, 'base64');
  const length = Buffer.alloc(4);
  length.writeInt32BE(bytes.length);
  socket.write(Buffer.concat([length, bytes]));
}

/** In Base64. */
async function tokenFrom(answers: Answers, address: string): Promise<string> {
  const status = await answers.number();
  if (status === FAILURE) {
    await answers.bytes(); // The class: a SaslException, or one that says the same.
    const [said = ''] = (await answers.bytes()).toString().split('\n', 1);
    const message = `the HBase server ${address} refuses the Kerberos ticket: ${said}`;
    throw new KerberosFailure(message, { isLasting: false });
  }
  if (status !== SUCCESS) throw new Error(FOREIGN);
  const length = await answers.number();
  if (length !== NO_KERBEROS) return (await answers.bytes(length)).toString('base64');
  throw new PercolatorError(
    'STORE_REFUSED',
    `the HBase server ${address} does not ask for Kerberos, and principal says that it must; ` +
      'leave principal out only if any process may pass for this server',
  );
}

const FOREIGN = 'the server does not speak the protocol of HBase';

/** What a server sends before it sends frames. Only this reads from the socket, until `leave`. */
class Answers {
  readonly #socket: Socket;
  readonly #ended = Promise.withResolvers<never>();
  #received = Buffer.alloc(0);
  #more = Promise.withResolvers<void>();

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#ended.promise.catch(() => {});
    socket.on('data', this.#add).once('error', this.#end).once('close', this.#end);
  }

  /** Rejects when the connection is closed. */
  get ended(): Promise<never> {
    return this.#ended.promise;
  }

  async number(): Promise<number> {
    return (await this.bytes(4)).readInt32BE();
  }

  /** @param count default: as many as the number before them says */
  async bytes(count?: number): Promise<Buffer> {
    const wanted = count ?? (await this.number());
    if (wanted < 0 || wanted > TOKEN_BYTES_MAX) throw new Error(FOREIGN);
    while (this.#received.length < wanted) await this.#more.promise;
    const bytes = this.#received.subarray(0, wanted);
    this.#received = this.#received.subarray(wanted);
    return bytes;
  }

  /** What has come and was not asked for is left to the next reader, who must resume the socket. */
  leave(): void {
    const socket = this.#socket.pause();
    socket.off('data', this.#add).off('error', this.#end).off('close', this.#end);
    if (this.#received.length > 0) socket.unshift(this.#received);
  }

  readonly #add = (bytes: Buffer): void => {
    this.#received = Buffer.concat([this.#received, bytes]);
    if (this.#received.length > TOKEN_BYTES_MAX + 4) this.#socket.destroy(new Error(FOREIGN));
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  };

  readonly #end = (error: unknown): void => {
    this.#ended.reject(error instanceof Error ? error : new Error('the connection was closed'));
  };
}

/*
 * The service that a ticket is for can be read without a key: a token is DER, and its elements,
 * each a tag, the length of its content and the content, are in one another (RFC 4121, 4.1; RFC
 * 4120, 5.3 and 5.5.1).
 */

const NAME_TAG = 0x1b;
/** From the token to the ticket: the token, the request in it, and the request's fourth field. */
const TO_TICKET = [0x60, 0x6e, 0x30, 0xa3, 0x61, 0x30] as const;

interface TicketService {
  readonly realm: string;
  /** `hbase` and the host. */
  readonly name: readonly string[];
}

function serviceIn(token: Buffer): TicketService | undefined {
  const ticket = contentAt(token, ...TO_TICKET);
  const realm = ticket && contentAt(ticket, 0xa1, NAME_TAG)?.toString();
  const names = ticket && contentAt(ticket, 0xa2, 0x30, 0xa1, 0x30);
  if (realm === undefined || names === undefined) return undefined;
  const name = elementsOf(names).filter(({ tag }) => tag === NAME_TAG);
  return { realm, name: name.map(({ content }) => content.toString()) };
}

function contentAt(der: Buffer, ...tags: readonly number[]): Buffer | undefined {
  let content: Buffer | undefined = der;
  for (const wanted of tags) {
    content = content && elementsOf(content).find(({ tag }) => tag === wanted)?.content;
  }
  return content;
}

function elementsOf(der: Buffer): readonly { readonly tag: number; readonly content: Buffer }[] {
  const elements = [];
  for (let at = 0; at < der.length;) {
    const tag = der[at] ?? 0;
    const short = der[at + 1] ?? 0;
    const more = short < 0x80 ? 0 : short & 0x7f; // So many bytes of the length follow.
    let length = more === 0 ? short : 0;
    for (const byte of der.subarray(at + 2, at + 2 + more)) length = length * 256 + byte;
    const begin = at + 2 + more;
    elements.push({ tag, content: der.subarray(begin, begin + length) });
    at = begin + length;
  }
  return elements;
}

/*
 * The package is not one of the engine's own, and no type of it is named here: its install needs a
 * compiler where none of its compiled parts fits.
 */

const PACKAGE: string = 'kerberos';

interface Library {
  readonly GSS_MECH_OID_KRB5: number;
  readonly initializeClient: (
    service: string,
    options: { readonly mechOID: number },
  ) => Promise<SecurityContext>;
}

/** @throws PACKAGE_MISSING if the package `kerberos` is not installed, or does not load */
export async function loadKerberos(): Promise<BeginContext> {
  const load = async (): Promise<Library> =>
    ((await import(PACKAGE)) as { readonly default: Library }).default;
  try {
    const library = await loadPackages('HBase with Kerberos', [PACKAGE], load);
    const options = { mechOID: library.GSS_MECH_OID_KRB5 };
    return (service) => library.initializeClient(service, options);
  } catch (error) {
    if (error instanceof PercolatorError) throw error;
    const message =
      `HBase with Kerberos needs the package ${PACKAGE}, which does not load: ${reasonOf(error)}; ` +
      `npm rebuild ${PACKAGE} compiles it, and the system must have its library of Kerberos`;
    throw new PercolatorError('PACKAGE_MISSING', message, { cause: error });
  }
}
