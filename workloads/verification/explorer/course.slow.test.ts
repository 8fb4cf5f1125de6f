/** The course: each step can be done, by the choices that it shows to who is stuck. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { importWith } from '../mutants/hunt.ts';
import { MUTANTS } from '../mutants/mutants.ts';
import { COURSE, type CourseStep } from './course.ts';
import * as sound from './engine.ts';
import { GALLERY } from './gallery/index.ts';
import { readLink } from './page/link.ts';
import type { ExplorerEngine } from './search.ts';

async function engineOf({ mutant }: CourseStep): Promise<ExplorerEngine> {
  if (mutant === undefined) return sound;
  const found = MUTANTS.find(({ name }) => name === mutant);
  assert.ok(found !== undefined, mutant);
  assert.ok(
    GALLERY.some((entry) => entry.mutant === mutant),
    'the page has its engine',
  );
  return importWith<ExplorerEngine>(found, new URL('./engine.ts', import.meta.url));
}

/** Whether the step is done after each of the choices of its solution, from the beginning on. */
async function doneAfterEach(step: CourseStep): Promise<readonly boolean[]> {
  const engine = await engineOf(step);
  const scenario = engine.SCENARIOS.find(({ name }) => name === step.scenario);
  assert.ok(scenario !== undefined, step.scenario);
  const choices = engine.readChoices(step.solution);
  const { pictures } = await engine.tell(scenario, choices);
  const done: boolean[] = [];
  for (const [at, picture] of pictures.entries()) {
    assert.ok(picture.isTaken, `choice ${at} is possible`);
    const log = pictures.slice(0, at + 1).flatMap((one) => one.log);
    const violations = await engine.verdictOf(scenario, choices.slice(0, at));
    done.push(step.isDone({ log, picture, claims: violations.map(({ claim }) => claim) }));
  }
  return done;
}

describe('each step of the course is done by its solution, and not before:', () => {
  for (const step of COURSE) {
    test(`${step.name}, ${step.title}`, async () => {
      const done = await doneAfterEach(step);
      assert.equal(done.at(-1), true, 'done in the end');
      assert.equal(done.indexOf(true), done.length - 1, 'not before');
    });
  }
});

describe('a step of the course is not done by what only looks like it:', () => {
  const lookalikes = {
    'course-2': 's1f1f1f1c0',
    'course-3': 's0f0f0f0f0f0f0f0f0c0s1f1f1f1',
    'course-4': 's0f0f0f0a3f0f0f0f0',
  };
  for (const [name, solution] of Object.entries(lookalikes)) {
    test(`${name}, ${solution}`, async () => {
      const step = COURSE.find((one) => one.name === name);
      assert.ok(step !== undefined);
      const done = await doneAfterEach({ ...step, solution });
      assert.ok(!done.includes(true));
    });
  }
});

test('the rule that step 7 lacks is what it misses: with it, the same choices end well', async () => {
  const step = COURSE[6];
  const scenario = sound.SCENARIOS.find(({ name }) => name === step?.scenario);
  assert.ok(step !== undefined && scenario !== undefined);
  assert.deepEqual(await sound.verdictOf(scenario, sound.readChoices(step.solution)), []);
});

test('the ten names stand in links, and are those of no story and no scenario', () => {
  assert.equal(COURSE.length, 10);
  const names = COURSE.map(({ name }) => name);
  const all = [...names, ...GALLERY.map(({ name }) => name)];
  assert.equal(new Set(all).size, all.length);
  for (const name of names) {
    assert.equal(readLink(`#${name}/s0`)?.name, name);
    assert.ok(!sound.SCENARIOS.some((scenario) => scenario.name === name));
  }
});
