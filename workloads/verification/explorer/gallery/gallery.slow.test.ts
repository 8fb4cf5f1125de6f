/**
 * Each entry of the gallery: on the engine without its rule the judge finds what the entry says,
 * and on the engine as it is nothing, at any part of the story.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { importWith } from '../../mutants/hunt.ts';
import { MUTANTS } from '../../mutants/mutants.ts';
import * as sound from '../engine.ts';
import type { ExplorerEngine } from '../search.ts';

import { wholeStory, GALLERY, type GalleryEntry } from './index.ts';
import { WITHOUT_ENTRY, withoutStory } from './without-entry.ts';

async function engineOf({ mutant }: GalleryEntry): Promise<ExplorerEngine> {
  if (mutant === undefined) return sound;
  const found = MUTANTS.find(({ name }) => name === mutant);
  assert.ok(found !== undefined, `${mutant} is a mutant`);
  return importWith<ExplorerEngine>(found, new URL('../engine.ts', import.meta.url));
}

async function verdict(
  engine: ExplorerEngine,
  { scenario: name }: GalleryEntry,
  choices: string,
): Promise<readonly string[]> {
  const scenario = engine.SCENARIOS.find((one) => one.name === name);
  assert.ok(scenario !== undefined, `${name} is a scenario`);
  const violations = await engine.verdictOf(scenario, engine.readChoices(choices));
  return violations.map(({ claim }) => claim);
}

for (const entry of GALLERY) {
  describe(`${entry.rule ?? 'story'} ${entry.name}`, () => {
    test('every choice is possible, and the judge finds what it says', async () => {
      const engine = await engineOf(entry);
      const scenario = engine.SCENARIOS.find(({ name }) => name === entry.scenario);
      assert.ok(scenario !== undefined, entry.scenario);
      const world = await engine.ExplorerWorld.open(scenario);
      for (const choice of engine.oneByOne(engine.readChoices(wholeStory(entry)))) {
        assert.ok(await world.take(choice), `${engine.writeChoices([choice])} is possible`);
      }
      const claims = (await engine.endAndJudge(world)).map(({ claim }) => claim);
      if (entry.convicted === undefined) assert.deepEqual(claims, []);
      else assert.ok(claims.includes(entry.convicted), claims.join('; '));
    });

    test('the engine as it is passes the same choices, at every part', async () => {
      let choices = '';
      for (const part of entry.parts) {
        choices += part.choices;
        assert.deepEqual(await verdict(sound, entry, choices), [], `after ${choices}`);
      }
    });
  });
}

describe('an anomaly ends as its story tells:', () => {
  const endings = {
    'write-cycle-prevented': [/T2: .* has failed: WRITE_CONFLICT$/, /reads rows\/2:value: 21$/],
    'intermediate-read-prevented': [/reads row 1 again: 10$/, /T1: .* has committed at 9$/],
    'circular-flow-prevented': [/T1: reads row 2: 20$/, /T2: reads row 1: 10$/],
    'vanishing-prevented': [/reads rows\/1:value: 11$/, /reads rows\/2:value: 21$/],
    'predicate-read-prevented': [/T1: finds 30 in no row$/, /T1: .* has committed at 7$/],
    'predicate-write-prevented': [/T2: finds 20 in row 2$/, /T2: .* has failed: WRITE_CONFLICT$/],
    'read-skew-prevented': [/reads rows\/1:value: 10$/, /reads rows\/2:value: 20$/],
    'predicate-skew': [/T1: .* has committed at 9$/, /T2: .* has committed at 10$/],
    'predicate-skew-closed': [/T1: .* has committed/, /T2: .* has failed: WRITE_CONFLICT$/],
    'read-only-closed': [/drawer: .* has failed: WRITE_CONFLICT$/, /set balance:data@11=\$-10/],
    'lost-update-prevented': [/B: .* has failed: WRITE_CONFLICT$/, /set bal:data@10=\$18,/],
    'write-skew': [/Ann: .* has committed at 9$/, /Ben: .* has committed at 10$/],
    'write-skew-closed': [/Ben: .* has failed: WRITE_CONFLICT$/, /Ben: stays/],
    'read-only-anomaly': [
      /reader: reads \S+checking:balance: \$0$/,
      /reader: reads \S+savings:balance: \$20$/,
      /set balance:data@7=\$-11,/,
    ],
  };
  for (const [name, lines] of Object.entries(endings)) {
    test(name, async () => {
      const entry = GALLERY.find((one) => one.name === name);
      const scenario = sound.SCENARIOS.find((one) => one.name === entry?.scenario);
      assert.ok(entry !== undefined && scenario !== undefined);
      const { log } = await sound.replay(scenario, sound.readChoices(wholeStory(entry)));
      for (const line of lines) {
        assert.ok(
          log.some((one) => line.test(one)),
          `${line}`,
        );
      }
    });
  }
});

test('names are unique, and entries name rules of protocol.md and mutants that break them', () => {
  const names = GALLERY.map(({ name }) => name);
  assert.deepEqual([...new Set(names)], names);
  const protocol = readFileSync(new URL('../../../../engine/protocol.md', import.meta.url), 'utf8');
  for (const { name, rule, mutant, convicted } of GALLERY) {
    assert.match(name, /^[a-z0-9]+(?:-[a-z0-9]+)*$/);
    assert.equal(mutant === undefined, convicted === undefined, `${name}: mutant and verdict`);
    if (rule === undefined) continue;
    assert.ok(protocol.includes(`**${rule}.**`), `${rule} is a rule`);
    const found = MUTANTS.find((one) => one.name === mutant);
    assert.equal(found?.rule, rule, `${name}: the mutant breaks the rule`);
  }
});

test('each rule of protocol.md names its story, and a table there says why others have none', () => {
  const protocol = readFileSync(new URL('../../../../engine/protocol.md', import.meta.url), 'utf8');
  const rules = protocol.matchAll(/^- \*\*(P\d+)\.\*\*[^]*?(?=\n- \*\*P|\n\n)/gm);
  for (const [text, rule] of rules) {
    const [, named] = /_Story:_\s+`([a-z0-9-]+)`\.$/.exec(text) ?? [];
    assert.equal(named, GALLERY.find((entry) => entry.rule === rule)?.name, rule);
  }
  const rows = withoutStory().map(({ rules: named, why }) => [named, why]);
  const table = [...protocol.matchAll(/^\| (P\d+(?:, P\d+)*) +\| (.*?) +\|$/gm)];
  assert.deepEqual(
    table.map(([, named, why]) => [named, why]),
    rows,
  );
});

test('each rule of protocol.md has an entry, or a reason why not', () => {
  const protocol = readFileSync(new URL('../../../../engine/protocol.md', import.meta.url), 'utf8');
  const rules = [...protocol.matchAll(/\*\*(P\d+)\.\*\*/g)].map(([, rule]) => rule);
  const shown = GALLERY.flatMap(({ rule }) => rule ?? []);
  const told = [...new Set(shown), ...Object.keys(WITHOUT_ENTRY)];
  assert.deepEqual(new Set(told), new Set(rules));
  assert.equal(told.length, rules.length, 'no rule has both');
});
