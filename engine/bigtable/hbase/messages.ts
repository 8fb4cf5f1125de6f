/**
 * The messages of HBase's protocol, encoded and decoded by protobufjs from `hbase.proto`, which the
 * program reads when it first opens an HBase: there is no generated code to keep up to date.
 *
 * The types below say what this client sends and what it looks at in answers. Our own whole numbers
 * are at most 2^53, and are sent as numbers. HBase's numbers of scanners and procedures have 64
 * bits, and go back as they came.
 */
import { fileURLToPath } from 'node:url';
import type protobuf from 'protobufjs';
import { assert, loadPackages } from '../../base/index.ts';

export interface Codec<Message> {
  encode(message: Message): Uint8Array;
  decode(bytes: Uint8Array): Message;
}

export interface TableName {
  readonly namespace: Uint8Array;
  readonly qualifier: Uint8Array;
}

export interface ServerName {
  readonly hostName: string;
  readonly port?: number;
}

export interface RegionSpecifier {
  readonly type: number;
  readonly value: Uint8Array;
}

export interface RegionInfo {
  readonly tableName: TableName;
  readonly startKey?: Uint8Array;
  readonly endKey?: Uint8Array;
  readonly offline?: boolean;
  readonly split?: boolean;
  readonly replicaId?: number;
}

export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

/** Chooses cells: what a `Get` and a `Scan` have in common. */
export interface Selection {
  readonly column: readonly { family: Uint8Array; qualifier: readonly Uint8Array[] }[];
  readonly filter?: NamedFilter | undefined;
  readonly maxVersions: number;
  readonly cfTimeRange: readonly { columnFamily: Uint8Array; timeRange: TimeRange }[];
}

export interface NamedFilter {
  readonly name: string;
  readonly serializedFilter: Uint8Array;
}

export interface Comparator {
  readonly name: string;
  readonly serializedComparator: Uint8Array;
}

export interface Long {
  readonly high: number;
  readonly low: number;
}

export interface StoredCell {
  readonly row: Uint8Array;
  readonly family: Uint8Array;
  readonly qualifier: Uint8Array;
  readonly timestamp: Long | number;
  readonly value: Uint8Array;
}

export interface Result {
  readonly cell: readonly StoredCell[];
}

export interface QualifierValue {
  readonly qualifier: Uint8Array;
  readonly value?: Uint8Array;
  readonly timestamp: number;
  readonly deleteType?: number;
}

export interface MutationProto {
  readonly row: Uint8Array;
  readonly mutateType: number;
  readonly columnValue: readonly {
    family: Uint8Array;
    qualifierValue: readonly QualifierValue[];
  }[];
}

export interface Condition {
  readonly row: Uint8Array;
  readonly family: Uint8Array;
  readonly qualifier: Uint8Array;
  readonly compareType: number;
  readonly comparator: Comparator;
  readonly timeRange: TimeRange;
}

export interface Action {
  readonly index?: number;
  readonly mutation?: MutationProto;
  readonly get?: Selection & { readonly row: Uint8Array };
  readonly serviceCall?: {
    readonly row: Uint8Array;
    readonly serviceName: string;
    readonly methodName: string;
    readonly request: Uint8Array;
  };
}

/** The name of a Java class, and an exception's stack as text, or the message of a result. */
export interface NamedBytes {
  readonly name: string;
  readonly value?: Uint8Array;
}

export interface RegionAction {
  readonly region: RegionSpecifier;
  readonly atomic?: boolean;
  readonly action: readonly Action[];
}

export interface ResultOrException {
  readonly index?: number;
  readonly result?: Result | null;
  readonly exception?: NamedBytes | null;
  readonly serviceResult?: { readonly value?: NamedBytes | null } | null;
}

export interface MultiResponse {
  readonly regionActionResult: readonly {
    readonly resultOrException: readonly ResultOrException[];
    readonly exception?: NamedBytes | null;
  }[];
}

/** Where a scan starts and stops; an empty row means that end of the table. */
export interface ScanBounds {
  readonly startRow: Uint8Array;
  readonly stopRow?: Uint8Array;
  /** From the last row to the first: `startRow` is not before `stopRow`. */
  readonly reversed?: boolean;
  /** Default true. */
  readonly includeStartRow?: boolean;
  /** Default false. */
  readonly includeStopRow?: boolean;
}

export interface ScanRequest {
  readonly region?: RegionSpecifier;
  readonly scan?: Selection & ScanBounds;
  readonly scannerId?: Long | number;
  readonly numberOfRows: number;
  readonly closeScanner?: boolean;
  readonly limitOfRows?: number;
  readonly nextCallSeq?: number;
}

export interface ScanResponse {
  /** Names the scan in the next call. */
  readonly scannerId: Long | number;
  readonly moreResults?: boolean;
  readonly moreResultsInRegion?: boolean;
  readonly results: readonly Result[];
}

export interface TableSchemaMessage {
  readonly tableName: TableName;
  readonly attributes: readonly Pair[];
  readonly columnFamilies: readonly { name: Uint8Array; attributes: readonly Pair[] }[];
}

export interface Pair {
  readonly first: Uint8Array;
  readonly second: Uint8Array;
}

export interface ProcedureResult {
  readonly state: number;
  readonly exception?: {
    readonly genericException?: { className?: string; message?: string } | null;
  } | null;
}

const codecs = new Map<string, unknown>();

/** Encodes and decodes the message of this name in `hbase.proto`. `loadMessages` comes first. */
export function messageOf<Message extends object>(name: string): Codec<Message> & Framed {
  let codec = codecs.get(name) as (Codec<Message> & Framed) | undefined;
  if (codec === undefined) {
    codec = codecOf<Message>(protocol().lookupType(`hbase.pb.${name}`));
    codecs.set(name, codec);
  }
  return codec;
}

function codecOf<Message extends object>(type: protobuf.Type): Codec<Message> & Framed {
  return {
    encode: (message) => type.encode(message).finish(),
    decode: (bytes) => type.decode(bytes) as unknown as Message,
    append: (message, writer) => type.encodeDelimited(message, writer),
    read: (reader) => type.decodeDelimited(reader),
  };
}

/** Messages that follow one another, each after its length. */
export interface Framed {
  append(message: object, writer?: protobuf.Writer): protobuf.Writer;
  read(reader: protobuf.Reader): object;
}

export function readerOf(bytes: Uint8Array): protobuf.Reader {
  return library().Reader.create(bytes);
}

/** A decoded uint64, which protobufjs gives as a Long if that package is there. */
export function numberOf(value: Long | number): number {
  return typeof value === 'number' ? value : value.high * 2 ** 32 + (value.low >>> 0);
}

let loaded: protobuf.Root | undefined;

function protocol(): protobuf.Root {
  const file = fileURLToPath(new URL('hbase.proto', import.meta.url));
  loaded ??= new (library().Root)().loadSync(file);
  return loaded;
}

let protobufjs: typeof protobuf | undefined;

/** Loads the library, which processes without an HBase do not need. @throws PACKAGE_MISSING */
export async function loadMessages(): Promise<void> {
  const load = async (): Promise<typeof protobuf> => (await import('protobufjs')).default;
  protobufjs ??= await loadPackages('HBase', ['protobufjs'], load);
}

function library(): typeof protobuf {
  assert(protobufjs !== undefined, 'the messages are loaded before they are used');
  return protobufjs;
}

/** Names and numbers of HBase that several files of this folder use. */
const FILTER_PACKAGE = 'org.apache.hadoop.hbase.filter';

export const FILTERS: Readonly<Record<'binary' | 'regex' | 'qualifier', string>> = {
  binary: `${FILTER_PACKAGE}.BinaryComparator`,
  regex: `${FILTER_PACKAGE}.RegexStringComparator`,
  qualifier: `${FILTER_PACKAGE}.QualifierFilter`,
};

/** The service of HBase that checks several conditions and mutates, in one step under one lock. */
export const ENDPOINT = {
  className: 'org.apache.hadoop.hbase.coprocessor.MultiRowMutationEndpoint',
  serviceName: 'MultiRowMutationService',
  methodName: 'MutateRows',
} as const;

export const COMPARE = { equal: 2, notEqual: 3 } as const;
export const MUTATION = { put: 2, delete: 3 } as const;
export const DELETE = { oneVersion: 0, multipleVersions: 1 } as const;
