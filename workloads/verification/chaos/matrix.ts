/**
 * The settings that `--profile standard` goes through, one round each.
 *
 * The table is pairwise: any two values of two columns occur together in at least one round. Most
 * mistakes need one setting or two to show; all combinations would be 64 rounds.
 */
import type { StoreName } from '#engine';
import { quoteForShell } from '../../harness/command-line/invocation.ts';
import { asConfig, ENGINE_OPTIONS, type EngineValues } from '../../harness/engine-settings.ts';

/** How the processes of a round open the database. */
export interface Setting {
  readonly store: StoreName;
  /** Whether two oracles and the lock service are processes that are killed, too. */
  readonly services: boolean;
  readonly engine: EngineValues;
  /** Whether all processes collect garbage, too. */
  readonly gc: boolean;
}

/** Settings from the command line. */
export type PartialSetting = Partial<Omit<Setting, 'engine'>> & {
  readonly engine: Partial<EngineValues>;
};

type Value = 'embedded' | 'emulator' | 'on' | 'off';

// oxfmt-ignore
export const TABLE: readonly (readonly [store: Value, ...Value[]])[] = [
  // store     services  batching  prefetch  scanners  gc
  ['embedded', 'on',     'on',     'off',    'off',    'off'],
  ['embedded', 'off',    'on',     'off',    'on',     'on'],
  ['emulator', 'on',     'off',    'off',    'on',     'on'],
  ['embedded', 'off',    'off',    'on',     'on',     'on'],
  ['embedded', 'on',     'off',    'on',     'off',    'off'],
  ['emulator', 'off',    'on',     'off',    'off',    'on'],
  ['emulator', 'off',    'on',     'on',     'on',     'off'],
];

const SCANNERS = 3;

/**
 * The setting of each round. Settings from the command line that differ from their defaults hold in
 * all rounds.
 */
export function matrixOf(given: PartialSetting): readonly Setting[] {
  return TABLE.map(([store, services, batching, prefetch, scanners, gc]) => {
    const engine: Partial<EngineValues> = {
      batching: batching === 'on' ? 'on' : 'off',
      prefetch: prefetch === 'on' ? 'learn' : 'off',
      scanners: scanners === 'on' ? SCANNERS : 1,
    };
    const ofRow = {
      store: store === 'emulator' ? 'emulator' : 'embedded',
      services: services === 'on',
      gc: gc === 'on',
    };
    return settingOf(Object.assign(ofRow, given, { engine: Object.assign(engine, given.engine) }));
  });
}

/** The given setting, for a single round. */
export function settingOf({ engine, ...given }: PartialSetting): Setting {
  const plain = { store: 'embedded', services: false, gc: false } as const;
  return { ...plain, ...given, engine: { ...defaultEngine(), ...engine } };
}

/** The command-line options that repeat the setting, for a shell. */
export function optionsOf({ store, services, engine, gc }: Setting): string {
  const plain = asConfig(defaultEngine());
  const hasEffect = (option: string): boolean =>
    engine.batching === 'on' || !option.startsWith('batch-');
  const options = [
    `--store ${quoteForShell(nameOf(store))}`,
    services && '--services',
    ...Object.entries(asConfig(engine)).map(
      ([option, value]) => value !== plain[option] && hasEffect(option) && `--${option} ${value}`,
    ),
    gc && '--gc',
  ];
  return options.filter((option) => option !== false).join(' ');
}

function defaultEngine(): EngineValues {
  const entries = Object.entries(ENGINE_OPTIONS).map(([name, { fallback }]) => [name, fallback()]);
  return Object.fromEntries(entries);
}

/** The name of the store as `--store` takes it. */
export function nameOf(store: StoreName): string {
  if (typeof store === 'string') return store;
  if (store.kind === 'cloud') {
    const { project, instance, appProfile } = store;
    return `bigtable://${project}/${instance}${appProfile ? `?appProfile=${appProfile}` : ''}`;
  }
  const { tls, servers, namespace, sessionTimeoutMs } = store;
  const parameters = Object.entries({ namespace, sessionTimeoutMs })
    .filter(([, value]) => value !== undefined)
    .map(([parameter, value]) => `${parameter}=${value}`);
  const query = parameters.length === 0 ? '' : `?${parameters.join('&')}`;
  return `hbase${tls === true ? 's' : ''}://${servers.join(',')}${query}`;
}
