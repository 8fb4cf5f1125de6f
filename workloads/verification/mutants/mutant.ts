/**
 * A mutant: the engine with one known mistake put back.
 *
 * The mistakes are those that protocol.md numbers; some system has made each of them. A mutant
 * changes the text of a file of the engine while it is loaded, so the engine itself contains no
 * switch, and pays for none. If the text is no longer there exactly once, the mutant is out of date
 * and says so, instead of testing nothing.
 */
import { assert, type Random } from '../../../engine/base/index.ts';
import type {
  DiskKnobs,
  HBaseKnobs,
  Knobs,
  OwnersKnobs,
  ProcessPlan,
  SocketKnobs,
} from './worlds.ts';

export interface TextChange {
  /** The path below `engine/`. */
  readonly file: string;
  /** Text that occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

export interface Mutant {
  /** The number of the rule that it breaks, as in protocol.md. */
  readonly rule: `P${number}`;
  /** Unique, in lower case with hyphens. */
  readonly name: string;
  /** The mistake, in one sentence. */
  readonly mistake: string;
  readonly changes: readonly TextChange[];
  /**
   * What is simulated. Default: the engine, on the model store. `hbase`: the HBase client alone, on
   * a simulated cluster. `disk`: the embedded store alone, on a simulated disk. `owners`: the same,
   * with owners that lose it. `shared store` and `hbase on sockets`: the processes of a shared
   * store, and the HBase client, on real sockets. `services`: oracles and lock services, on real
   * sockets, too.
   */
  readonly world?:
    | 'hbase'
    | 'disk'
    | 'owners'
    | 'shared store'
    | 'hbase on sockets'
    | 'services'
    | undefined;
  /**
   * Knobs under which a mistake that needs a rare coincidence shows sooner. Default: those of the
   * seed.
   */
  readonly knobs?: Partial<Knobs> | undefined;
  /** The same for the world `hbase`. */
  readonly cluster?: Partial<HBaseKnobs> | undefined;
  /** The same for the world `disk`. */
  readonly disk?: Partial<DiskKnobs> | undefined;
  /** The same for the worlds on sockets, where a seed repeats the faults and not the run. */
  readonly sockets?: Partial<SocketKnobs> | undefined;
  readonly owners?: Partial<OwnersKnobs> | undefined;
  /**
   * The load of the processes, for a mistake that the usual load hides. The mutant then meets only
   * the faults that `knobs` names. Default: the load of the seed.
   */
  readonly load?: ((random: Random) => readonly ProcessPlan[]) | undefined;
  /** Whether processes follow the changes of the tables, too. Default false. */
  readonly follows?: boolean | undefined;
}

/** The file's text with the mistake in it, or unchanged if the mutant does not change this file. */
export function mutate(mutant: Mutant, file: string, text: string): string {
  return mutant.changes
    .filter((one) => one.file === file)
    .reduce((before, { find, replace }) => {
      const parts = before.split(find);
      assert(
        parts.length === 2,
        `mutant ${mutant.name} finds its text once in ${file}, not ${parts.length - 1} times`,
      );
      return parts.join(replace);
    }, text);
}

export function change(file: string, find: string, replace: string): TextChange {
  return { file, find, replace };
}
