/**
 * `node workloads/verification/explorer/find.ts --mutant NAME --scenario NAME`: looks for choices
 * that convict a mutant, for an entry of the gallery. Not a script of run.sh: it serves authors.
 */
import { parseArgs } from 'node:util';
import { importWith } from '../mutants/hunt.ts';
import { MUTANTS } from '../mutants/mutants.ts';
import * as sound from './engine.ts';
import { type ExplorerEngine, search, WEIGHTS } from './search.ts';
import { readChoices, writeChoices } from './world/choice.ts';

const { values } = parseArgs({
  options: {
    mutant: { type: 'string' },
    scenario: { type: 'string' },
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: '3000' },
    choices: { type: 'string', default: '30' },
    begins: { type: 'string', default: '' },
    claim: { type: 'string' },
    weights: { type: 'string', default: '{}' },
    /** Only the verdict on these choices, on both engines, with the log. */
    play: { type: 'string' },
  },
});

const mutant = MUTANTS.find(({ name }) => name === values.mutant);
if (mutant === undefined) throw new RangeError(`there is no mutant ${values.mutant}`);
const mutated = await importWith<ExplorerEngine>(mutant, new URL('./engine.ts', import.meta.url));
const name = values.scenario ?? '';
if (values.play === undefined) await find();
else await play(values.play);

async function find(): Promise<void> {
  const found = await search({ mutated, sound }, name, {
    seed: Number(values.seed),
    runs: Number(values.runs),
    choicesMax: Number(values.choices),
    begins: readChoices(values.begins),
    claim: values.claim,
    weights: { ...WEIGHTS, ...(JSON.parse(values.weights) as typeof WEIGHTS) },
  });
  if (found === undefined) {
    console.log('not convicted');
    process.exitCode = 1;
    return;
  }
  console.log(`after ${found.runs} runs: ${writeChoices(found.choices)}`);
  await play(writeChoices(found.choices));
}

async function play(text: string): Promise<void> {
  for (const [who, engine] of Object.entries({ mutated, sound })) {
    const scenario = engine.SCENARIOS.find((one) => one.name === name);
    if (scenario === undefined) throw new RangeError(`there is no scenario ${name}`);
    const world = await engine.replay(scenario, engine.readChoices(text));
    const log = [...world.log];
    const violations = await engine.endAndJudge(world);
    console.log(
      [
        `-- ${who}`,
        ...log,
        ...violations.map(({ claim, message }) => `!! ${claim}: ${message}`),
      ].join('\n'),
    );
  }
}
