/**
 * The steps of "From a running store to three worker hosts" in docs/hosts.md, as its blocks say
 * them: files to be written, whose names are in the text before the block; commands, whose first
 * line says on which hosts they run; and what the commands before print.
 */
const SECTION = /^## From a running store to three worker hosts$(?<text>.*?)^## /ms;
const BLOCK = /^(?<indent> *)```(?<language>\w+)\n(?<body>.*?)^\k<indent>```$/gms;
const WHERE = /^# on (?:each host|10\.0\.0\.\d(?:(?:, | and )10\.0\.0\.\d)*)$/;
export const HOST_NUMBERS = [1, 2, 3] as const;

export type Step =
  | { readonly kind: 'file'; readonly name: string; readonly content: string }
  | { readonly kind: 'run'; readonly on: readonly number[]; readonly script: string }
  | { readonly kind: 'prints'; readonly text: string };

/** @throws if a block does not say what it is */
export function stepsOf(page: string): readonly Step[] {
  const text = SECTION.exec(page)?.groups?.['text'] ?? '';
  const steps = [...text.matchAll(BLOCK)].map((match) => {
    const { indent = '', language = '', body = '' } = match.groups ?? {};
    const content = body.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    return stepOf(language, content, text.slice(0, match.index));
  });
  if (steps.length === 0) throw new Error('the page has no steps');
  return steps;
}

function stepOf(language: string, content: string, before: string): Step {
  if (language === 'sh') return { kind: 'run', on: hostsOf(content), script: content };
  if (language === 'text') return { kind: 'prints', text: content };
  const [, name] = [...before.matchAll(/`([\w-]+\.\w+)`/g)].at(-1) ?? [];
  if (name === undefined) throw new Error(`no file is named before the block ${content}`);
  return { kind: 'file', name, content };
}

function hostsOf(script: string): readonly number[] {
  const [first = ''] = script.split('\n', 1);
  if (!WHERE.test(first)) throw new Error(`a block must say where it runs, not ${first}`);
  const named = [...first.matchAll(/10\.0\.0\.(\d)/g)].map(([, number]) => Number(number));
  return named.length === 0 ? HOST_NUMBERS : named;
}
