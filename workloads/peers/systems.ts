/**
 * The systems that bench:peers compares: ours on several stores, and the peers that this machine
 * can build. Each says what a commit survives.
 */
import path from 'node:path';
import { durabilityOf, javaOf, whyNoHBase } from '#engine';
import type { ProvidedStore } from '../harness/stores.ts';
import type { DocumentFiles } from './documents.ts';
import type { ProcessOptions } from './percolator-process.ts';
import type { Command } from './program.ts';
import { type Building, buildGo, buildJava, buildRust, type JavaProgram } from './toolchains.ts';

/** What a program needs to begin. */
export interface Place {
  /** An empty folder. */
  readonly folder: string;
  readonly files: DocumentFiles;
  readonly process: Omit<ProcessOptions, 'store'>;
  /** One for all systems that use it, in one process; the first caller starts it. */
  readonly hbase: () => Promise<ProvidedStore>;
}

export interface System {
  readonly name: SystemName;
  readonly durability: string;
  /** Whether it has transactions of one cell. */
  readonly hasCells: boolean;
  readonly command: (place: Place) => Promise<Command>;
}

interface Known extends Omit<System, 'name' | 'command'> {
  /**
   * Resolves with the command, once it is built.
   * @throws Error the end of a sentence: why the system is not here
   */
  readonly prepare: (building: Building) => Promise<System['command']>;
}

export const SYSTEMS = [
  'differential-dataflow',
  'percolator-memory',
  'client-go-memory',
  'percolator-page-cache',
  'client-go-page-cache',
  'percolator-fsync',
  'percolator-hbase',
  'omid-hbase',
  'fluo',
] as const;
export type SystemName = (typeof SYSTEMS)[number];

const NOTHING_SURVIVES = 'nothing survives the process, which keeps everything in memory';
const ON_HBASE =
  'every commit is in the log of HBase, which is here one process on the local disk: it survives kill -9 of the client';

const OURS = new URL('percolator-process.ts', import.meta.url);

const KNOWN: Readonly<Record<SystemName, Known>> = {
  'differential-dataflow': {
    durability: `no transactions and no contents; ${NOTHING_SURVIVES}`,
    hasCells: false,
    prepare: async (building) => {
      const program = await buildRust('differential-dataflow', building);
      return async ({ files }) => ({
        words: [program, files.documents, files.clusters],
        serverPids: [],
      });
    },
  },
  'percolator-memory': {
    durability: NOTHING_SURVIVES,
    hasCells: true,
    prepare: async () => async (place) => oursOn('memory', place),
  },
  'percolator-page-cache': onFolder(false),
  'percolator-fsync': onFolder(true),
  'percolator-hbase': {
    durability: ON_HBASE,
    hasCells: true,
    prepare: async () => {
      await needHBase();
      return async (place) => {
        const { address, serverPids } = await place.hbase();
        return { ...oursOn(address, place), serverPids };
      };
    },
  },
  'omid-hbase': {
    durability: ON_HBASE,
    hasCells: true,
    prepare: async (building) => {
      await needHBase();
      const classPath = await buildJava(OMID, building);
      return async ({ files, hbase }) => {
        const { hbase: { logs } = { logs: '' }, serverPids } = await hbase();
        const configuration = path.join(path.dirname(logs), 'configuration');
        const all = [configuration, classPath].join(path.delimiter);
        const java = [javaOf(process.env), '-Xmx1g', '-cp', all, OMID.main];
        return { words: [...java, files.documents, files.clusters, files.keys], serverPids };
      };
    },
  },
  fluo: {
    durability:
      'every commit is in the logs of Accumulo’s tablet servers, here on the local disk: it survives kill -9 of the client; a power failure was not looked at',
    hasCells: true,
    prepare: async (building) => {
      const classPath = await buildJava(FLUO, building);
      return async ({ folder, files, process: { concurrency } }) => {
        const java = [javaOf(process.env), '-Xmx1g', '-cp', classPath, FLUO.main];
        const data = [files.documents, files.clusters, files.keys, path.join(folder, 'fluo')];
        return {
          words: [...java, ...data, String(concurrency)],
          environment: { JAVA_TOOL_OPTIONS: JAVA_FOR_ACCUMULO },
          serverPids: [],
        };
      };
    },
  },
  'client-go-memory': clientGo(NOTHING_SURVIVES, () => []),
  'client-go-page-cache': clientGo(durabilityOf({ kind: 'embedded', fsync: false }), (folder) => [
    path.join(folder, 'store'),
  ]),
};

function onFolder(fsync: boolean): Known {
  return {
    durability: durabilityOf({ kind: 'embedded', fsync }),
    hasCells: true,
    prepare: async () => async (place) =>
      oursOn({ kind: 'embedded', folder: path.join(place.folder, 'store'), fsync }, place),
  };
}

function oursOn(store: ProcessOptions['store'], place: Place): Command {
  const options = JSON.stringify({ ...place.process, store } satisfies ProcessOptions);
  return { words: [process.execPath, OURS.pathname, options], serverPids: [] };
}

function clientGo(durability: string, store: (folder: string) => readonly string[]): Known {
  return {
    durability,
    hasCells: true,
    prepare: async (building) => {
      const program = await buildGo('client-go', building);
      return async ({ folder, files }) => ({
        words: [program, files.documents, files.clusters, files.keys, ...store(folder)],
        serverPids: [],
      });
    },
  };
}

const OMID_VERSION = '1.1.3';
const OMID: JavaProgram = {
  name: 'omid',
  main: 'Omid',
  needs: {
    name: `omid-${OMID_VERSION}`,
    coordinates: ['omid-hbase-client', 'omid-tso-server', 'omid-hbase-tools'].map(
      (artifact) => `org.apache.omid:${artifact}:${OMID_VERSION}`,
    ),
    without: [],
    megabytes: 60,
  },
};

/** Those that run on Java 17, which Fluo and Accumulo were not made for. */
const FLUO_VERSION = '1.2.0';
const ACCUMULO_VERSION = '1.10.4';
const FLUO: JavaProgram = {
  name: 'fluo',
  main: 'Fluo',
  needs: {
    name: `fluo-${FLUO_VERSION}`,
    coordinates: [
      `org.apache.fluo:fluo-mini:${FLUO_VERSION}`,
      `org.apache.accumulo:accumulo-minicluster:${ACCUMULO_VERSION}`,
      `org.apache.accumulo:accumulo-core:${ACCUMULO_VERSION}`,
      `org.apache.accumulo:accumulo-fate:${ACCUMULO_VERSION}`,
      'org.apache.thrift:libthrift:0.12.0',
      'org.apache.zookeeper:zookeeper:3.5.10', // 3.4 does not parse the addresses of Java 17.
      'org.apache.hadoop:hadoop-client:2.10.2',
    ],
    without: ['org.slf4j:slf4j-log4j12'],
    megabytes: 60,
  },
};
/** For all processes of the mini cluster, which has options of an older Java. */
const JAVA_FOR_ACCUMULO = [
  '-XX:+IgnoreUnrecognizedVMOptions',
  '-Dzookeeper.4lw.commands.whitelist=*',
  '-Dzookeeper.admin.enableServer=false',
  ...['lang', 'lang.reflect', 'nio', 'util', 'util.concurrent', 'net', 'io'].map(
    (name) => `--add-opens=java.base/java.${name}=ALL-UNNAMED`,
  ),
].join(' ');

async function needHBase(): Promise<void> {
  const why = await whyNoHBase(process.env);
  if (why !== undefined) throw new Error(why);
}

export interface FoundSystems {
  readonly found: readonly System[];
  /** A sentence for each reason. */
  readonly missing: readonly string[];
}

/** Builds what has to be built, one after the other. */
export async function findSystems(
  names: readonly SystemName[],
  building: Building,
): Promise<FoundSystems> {
  const found: System[] = [];
  const missing = new Map<string, SystemName[]>();
  for (const name of names) {
    const { prepare, ...system } = KNOWN[name];
    try {
      found.push({ name, ...system, command: await prepare(building) });
    } catch (error) {
      building.signal.throwIfAborted();
      const why = error instanceof Error ? error.message : String(error);
      missing.set(why, [...(missing.get(why) ?? []), name]);
    }
  }
  const sentences = [...missing].map(([why, of]) => `${of.join(' and ')} skipped: ${why}`);
  return { found, missing: sentences };
}
