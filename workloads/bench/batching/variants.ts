/** The optimisations that `./run.sh bench:batching` switches off and on. */
import { type EngineValues, settingsOf } from '../../harness/engine-settings.ts';
import type { STORES } from '../../harness/stores/empty-stores.ts';
import type { Variant } from './measure-variants.ts';

export type VariantOptions = Pick<EngineValues, 'batchDelay' | 'batchRows' | 'batchInFlight'> & {
  readonly store: (typeof STORES)[number];
};

/** The emulator has the public API alone, so there "both" is "both, public API". */
export function variantsOf({ store, ...values }: VariantOptions): readonly Variant[] {
  const variant = (name: string, batching: 'off' | 'on', prefetch: 'off' | 'learn'): Variant => ({
    name,
    settings: settingsOf({ ...values, batching, prefetch }),
    conditionalBatch: true,
  });
  const publicApi = { ...variant('both, public API', 'on', 'learn'), conditionalBatch: false };
  return [
    variant('off', 'off', 'off'),
    variant('prefetch', 'off', 'learn'),
    variant('batching', 'on', 'off'),
    variant('both', 'on', 'learn'),
    ...(store === 'emulator' ? [] : [publicApi]),
  ];
}
