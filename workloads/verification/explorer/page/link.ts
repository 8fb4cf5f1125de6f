/**
 * What is shown, as the part of an address after the `#`, and back.
 *
 *     #early-commit-timestamp            an entry of the gallery
 *     #early-commit-timestamp*           the same on the engine as it is
 *     #transfer/s0n5c0                   a scenario and choices
 *     #transfer!commit-without-lock/s0   the same on a mutant
 */
import { COURSE } from '../course.ts';
import { GALLERY } from '../gallery/index.ts';
import type { ExplorerEngine } from '../search.ts';

export type Shown =
  | { readonly kind: 'entry'; readonly name: string; readonly isSound: boolean }
  | {
      readonly kind: 'scenario';
      readonly name: string;
      /** Absent: the engine as it is. */
      readonly mutant?: string | undefined;
      readonly choices: string;
    };

/** Undefined for an address that nothing has written. */
export function readLink(hash: string): Shown | undefined {
  const text = hash.replace(/^#/, '');
  const entry = /^([a-z0-9-]+)(\*?)$/.exec(text);
  if (entry !== null) return { kind: 'entry', name: entry[1] ?? '', isSound: entry[2] === '*' };
  const scenario = /^([a-z0-9-]+)(?:!([a-z0-9-]+))?\/([a-z0-9]*)$/.exec(text);
  if (scenario === null) return undefined;
  const [, name = '', mutant, choices = ''] = scenario;
  return { kind: 'scenario', name, mutant, choices };
}

/** Why the page cannot show what a link names: the end of a sentence. Undefined: it can. */
export function refusalOf(
  shown: Shown,
  { SCENARIOS, readChoices }: Pick<ExplorerEngine, 'SCENARIOS' | 'readChoices'>,
): string | undefined {
  const isNamed = (one: { readonly name: string }): boolean => one.name === shown.name;
  const isStep = COURSE.some(isNamed);
  if (shown.kind === 'entry') {
    return isStep || GALLERY.some(isNamed) ? undefined : `there is no story ${shown.name}`;
  }
  const { name, mutant, choices } = shown;
  if (!isStep && !SCENARIOS.some(isNamed)) return `there is no scenario ${name}`;
  if (mutant !== undefined && !GALLERY.some((one) => one.mutant === mutant)) {
    return `the page has no mutant ${mutant}`;
  }
  try {
    readChoices(choices);
    return undefined;
  } catch (error) {
    // It may be of another engine's PercolatorError, so the class does not tell.
    return error instanceof Error ? error.message : String(error);
  }
}

export function writeLink(shown: Shown): string {
  if (shown.kind === 'entry') return `#${shown.name}${shown.isSound ? '*' : ''}`;
  const mutant = shown.mutant === undefined ? '' : `!${shown.mutant}`;
  return `#${shown.name}${mutant}/${shown.choices}`;
}
