/**
 * Opens a store by its name, as users write it:
 *
 *     embedded                                           in a folder, shared by processes of one machine
 *     emulator                                           the official emulator
 *     bigtable://project/instance[?appProfile=name]      Cloud Bigtable
 *     hbase                                              an HBase on this machine
 *     hbase://host:port,...                              a running HBase; hbases:// through TLS
 *         [?namespace=name&sessionTimeoutMs=90000&proofMs=1000&principal=hbase/_HOST@REALM]
 *                                                        some of the parameters, all, or none
 *
 * A name says which kind; an address says where, and is plain data. One process makes the address,
 * starting an emulator or an HBase if needed, and sends it to the others, which open the same
 * store.
 */
import { type Clock, PercolatorError, unreachable } from '../base/index.ts';
import { ADDRESS, checkOptions, CLOCK, FLAG, type OptionRules } from '../base/options.ts';
import type { Bigtable } from './bigtable.ts';
import { type EmbeddedOptions, openEmbedded } from './embedded/index.ts';
import { openHBase } from './hbase/index.ts';
import { PRINCIPAL } from './hbase/kerberos.ts';
import { openRemote } from './remote/index.ts';

export interface CloudAddress {
  readonly kind: 'cloud';
  readonly project: string;
  readonly instance: string;
  readonly appProfile?: string | undefined;
}

export interface HBaseAddress {
  readonly kind: 'hbase';
  /** Masters or region servers, each `host:port`. */
  readonly servers: readonly string[];
  readonly namespace?: string | undefined;
  readonly tls?: boolean | undefined;
  /** The cluster's, as in `HBaseOptions`; so are `proofMs` and `principal`. */
  readonly sessionTimeoutMs?: number | undefined;
  readonly principal?: string | undefined;
  readonly proofMs?: number | undefined;
}

export type StoreAddress =
  | ({ readonly kind: 'embedded' } & Pick<EmbeddedOptions, 'folder' | 'fsync' | 'own'>)
  /** `address` is `host:port`. */
  | { readonly kind: 'emulator'; readonly address: string }
  | CloudAddress
  | HBaseAddress;

export type StoreName = 'embedded' | 'emulator' | 'hbase' | CloudAddress | HBaseAddress;

export interface OpenStoreOptions {
  /** Refuses every mutation, and creates nothing that is missing. Default false. */
  readonly readOnly?: boolean | undefined;
  /** For deadlines and pauses. Default: the system's. The embedded store always uses that. */
  readonly clock?: Clock | undefined;
}

const KINDS: OptionRules<OpenStoreOptions> = {
  readOnly: FLAG,
  clock: CLOCK,
};

/**
 * The names of project and instance do not matter inside an emulator, but all processes must use
 * the same.
 */
const IN_EMULATOR = { project: 'percolator-bench', instance: 'emulator' } as const;

/** @throws INVALID_ARGUMENT, STORE_UNAVAILABLE, STORE_REFUSED: the message says what to change */
export async function openStore(
  address: StoreAddress,
  options: OpenStoreOptions = {},
): Promise<Bigtable> {
  checkOptions('openStore', options, KINDS);
  switch (address.kind) {
    case 'embedded': {
      const { folder, fsync, own } = address;
      return openEmbedded({ folder, fsync, own, readOnly: options.readOnly });
    }
    case 'emulator':
      return openRemote({ ...IN_EMULATOR, ...options, plainAddress: address.address });
    case 'cloud': {
      const { project, instance, appProfile } = address;
      return openRemote({ project, instance, appProfile, ...options });
    }
    case 'hbase': {
      const { servers, namespace, tls, sessionTimeoutMs, proofMs, principal } = address;
      const hbase = { servers, namespace, tls, sessionTimeoutMs, proofMs, principal };
      return openHBase({ ...hbase, ...options });
    }
    default:
      return unreachable(address);
  }
}

/** @throws INVALID_ARGUMENT naming the valid forms */
export function parseStoreName(name: string): StoreName {
  if (name === 'embedded' || name === 'emulator' || name === 'hbase') return name;
  const address = parseCloud(name) ?? parseHBase(name);
  if (address !== undefined) return address;
  throw new PercolatorError(
    'INVALID_ARGUMENT',
    'a store is embedded, emulator, bigtable://project/instance[?appProfile=name], hbase or ' +
      'hbase[s]://host:port,...[?namespace=name&sessionTimeoutMs=90000&proofMs=1000&principal=hbase/_HOST] (each port 1 to 65535), ' +
      `not ${JSON.stringify(name)}`,
  );
}

/**
 * A regular expression parses the name, because `URL` accepts any case of a host, and much else.
 */
function parseCloud(name: string): CloudAddress | undefined {
  const id = '[a-z][-a-z0-9.:]*';
  const form = new RegExp(
    `^bigtable://(?<project>${id})/(?<instance>[-a-z0-9]+)(?:[?]appProfile=(?<appProfile>[-_.a-zA-Z0-9]+))?$`,
  );
  const { project, instance, appProfile } = form.exec(name)?.groups ?? {};
  if (project === undefined || instance === undefined) return undefined;
  return { kind: 'cloud', project, instance, appProfile };
}

function parseHBase(name: string): HBaseAddress | undefined {
  const host = String.raw`(?:[\w.-]+|\[[\da-f:.]+\]):\d{1,5}`;
  const form = new RegExp(
    `^hbase(?<s>s?)://(?<list>${host}(?:,${host})*)/?(?:[?](?<query>.+))?$`,
    'i',
  );
  const { s, list, query } = form.exec(name)?.groups ?? {};
  const parameters = HBASE_QUERY.exec(query ?? '')?.groups;
  if (list === undefined || parameters === undefined) return undefined;
  const servers = list.split(',');
  if (!servers.every(ADDRESS.accepts)) return undefined;
  const { namespace, session, proof, principal } = parameters;
  if (principal !== undefined && !PRINCIPAL.accepts(principal)) return undefined;
  const [sessionTimeoutMs, proofMs] = [session, proof].map((digits) =>
    digits === undefined ? undefined : Number(digits),
  );
  const given = { namespace, sessionTimeoutMs, proofMs, principal };
  return { kind: 'hbase', servers, tls: s !== '', ...given };
}

/** Nothing, or each parameter at most once, in this order. */
const HBASE_QUERY =
  /^(?:namespace=(?<namespace>\w+))?(?:(?:^|\b&)sessionTimeoutMs=(?<session>\d{4,9}))?(?:(?:^|\b&)proofMs=(?<proof>\d{1,9}))?(?:(?:^|\b&)principal=(?<principal>[^&]+))?$/i;
