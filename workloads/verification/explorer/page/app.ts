/**
 * The page: a story of the gallery or a scenario, its states, and what may happen next.
 *
 *     address ─▶ scenario, engine, choices ─▶ tell ─▶ all pictures ─▶ the one at the slider
 *                                                       ▲
 *                        a button ─▶ one choice more, from here on (a branch)
 */
import { type ComponentChild, h, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Violation } from '../../judges/history.ts';
import { COURSE, type CourseStep, type Seen } from '../course.ts';
import { GALLERY, type GalleryEntry } from '../gallery/index.ts';
import type { ExplorerEngine } from '../search.ts';
import type { WrittenChoice } from '../world/choice.ts';
import type { PlayedStory } from '../world/picture.ts';
import { courseBar, useProgress } from './course-panel.ts';
import { diagram } from './diagram.ts';
import { readLink, refusalOf, type Shown, writeLink } from './link.ts';
import { loadEngine, type PageData, readData } from './loader.ts';
import {
  cellsPanel,
  figurePanel,
  logPanel,
  messagesPanel,
  processesPanel,
  scrollToNow,
  stepControls,
  useArrows,
  verdictPanel,
} from './panels.ts';

/** What is being looked at. */
interface Scene {
  readonly entry?: GalleryEntry | undefined;
  /** The step of the course that it belongs to. */
  readonly lesson?: CourseStep | undefined;
  readonly scenario: string;
  /** Absent: the engine as it is. */
  readonly mutant?: string | undefined;
  readonly choices: readonly WrittenChoice[];
  readonly at: number;
}

const FIRST = 'crash-before-commit';
const engines = new Map<string, ExplorerEngine>();

function engineFor(data: PageData, mutant: string | undefined): ExplorerEngine {
  const name = mutant ?? '';
  const engine = engines.get(name) ?? loadEngine(data, mutant);
  engines.set(name, engine);
  return engine;
}

/** Without a link, or with one that the page cannot show, the first story. */
function sceneOf(shown: Shown | undefined, engine: ExplorerEngine): Scene {
  if (shown !== undefined && refusalOf(shown, engine) !== undefined) {
    return sceneOf(undefined, engine);
  }
  const lesson = COURSE.find(({ name }) => name === shown?.name);
  if (lesson !== undefined) {
    return lessonAfter(lesson, shown?.kind === 'scenario' ? shown.choices : '', engine);
  }
  if (shown?.kind === 'scenario') {
    const choices = engine.oneByOne(engine.readChoices(shown.choices));
    return { scenario: shown.name, mutant: shown.mutant, choices, at: choices.length };
  }
  const name = shown?.name ?? FIRST;
  const entry = GALLERY.find((one) => one.name === name) as GalleryEntry;
  const text = entry.parts.map(({ choices }) => choices).join('');
  return {
    entry,
    scenario: entry.scenario,
    mutant: shown?.isSound === true ? undefined : entry.mutant,
    choices: engine.oneByOne(engine.readChoices(text)),
    at: 0,
  };
}

function lessonAfter(lesson: CourseStep, text: string, engine: ExplorerEngine): Scene {
  const choices = engine.oneByOne(engine.readChoices(text));
  const { scenario, mutant } = lesson;
  return { lesson, scenario, mutant, choices, at: choices.length };
}

function linkOf(scene: Scene, engine: ExplorerEngine): string {
  const { entry, lesson, scenario, mutant, choices } = scene;
  if (entry !== undefined) {
    const isSound = entry.mutant !== undefined && mutant === undefined;
    return writeLink({ kind: 'entry', name: entry.name, isSound });
  }
  const text = engine.writeChoices(choices);
  if (lesson !== undefined) {
    return writeLink({ kind: 'scenario', name: lesson.name, choices: text });
  }
  return writeLink({ kind: 'scenario', name: scenario, mutant, choices: text });
}

function scenarioOf({ SCENARIOS }: ExplorerEngine, name: string): Telling['scenario'] {
  const scenario = SCENARIOS.find((one) => one.name === name);
  if (scenario === undefined) throw new RangeError(`there is no scenario ${name}`);
  return scenario;
}

interface Telling {
  readonly engine: ExplorerEngine;
  readonly scenario: ExplorerEngine['SCENARIOS'][number];
  /** Undefined until one has been told; then the one before, until this one is. */
  readonly story: PlayedStory | undefined;
  /** Whether the story is that of the scene. */
  readonly isCurrent: boolean;
  /** On the state that is shown; undefined until the judge has looked. */
  readonly verdict: readonly Violation[] | undefined;
}

/** Tells the story again whenever its choices or its engine change. */
function useStory(data: PageData, scene: Scene): Telling {
  const [told, setTold] = useState<Told | undefined>();
  const [judged, setJudged] = useState<Judged | undefined>();
  const { choices, mutant, at } = scene;
  const engine = engineFor(data, mutant);
  const scenario = scenarioOf(engine, scene.scenario);
  useEffect(() => {
    history.replaceState(null, '', linkOf(scene, engine));
    let isOld = false;
    const set = (story: PlayedStory): void => setTold({ scenario, choices, story });
    void engine.tell(scenario, choices).then((story) => isOld || set(story));
    return () => void (isOld = true);
  }, [choices, scenario]);
  useEffect(() => {
    let isOld = false;
    const set = (verdict: readonly Violation[]): void =>
      setJudged({ scenario, choices, at, verdict });
    void engine.verdictOf(scenario, choices.slice(0, at)).then((one) => isOld || set(one));
    return () => void (isOld = true);
  }, [at, choices, scenario]);
  const isOfScene = (one: Belongs | undefined): boolean =>
    one?.scenario === scenario && one.choices === choices;
  return {
    engine,
    scenario,
    story: told?.story,
    isCurrent: isOfScene(told),
    verdict: isOfScene(judged) && judged?.at === at ? judged.verdict : undefined,
  };
}

/** What a story or a verdict is of. Each engine has scenario objects of its own. */
interface Belongs {
  readonly scenario: Telling['scenario'];
  readonly choices: readonly WrittenChoice[];
}

interface Told extends Belongs {
  readonly story: PlayedStory;
}

interface Judged extends Belongs {
  readonly at: number;
  readonly verdict: readonly Violation[];
}

function App({ data }: { readonly data: PageData }): ComponentChild {
  const sound = engineFor(data, undefined);
  const [scene, show] = useState(() => sceneOf(readLink(location.hash), sound));
  const { engine, scenario, story, isCurrent, verdict } = useStory(data, scene);
  useEffect(() => {
    const listen = (): void => show(sceneOf(readLink(location.hash), sound));
    addEventListener('hashchange', listen);
    return () => removeEventListener('hashchange', listen);
  }, []);
  useEffect(scrollToNow, [scene.at, story]);
  const move = (at: (now: number) => number): void =>
    show((now) => ({ ...now, at: Math.max(0, Math.min(now.choices.length, at(now.at))) }));
  useArrows(move);
  /** One choice more: the rest of the story is left. */
  const choose = (choice: WrittenChoice): void => {
    const choices = [...scene.choices.slice(0, scene.at), choice];
    show({ ...scene, entry: undefined, choices, at: choices.length });
  };
  const at = Math.min(scene.at, (story?.pictures.length ?? 1) - 1);
  const picture = story?.pictures[at];
  const progress = useProgress(
    scene.lesson,
    at === 0 || !isCurrent ? undefined : seenAt(story, at, verdict),
  );
  if (story === undefined || picture === undefined) {
    return h('p', { class: 'loading' }, 'Starting the engine …');
  }
  const before = story.pictures[at - 1];
  return h(
    'main',
    {},
    top(scene, show, sound),
    scene.lesson !== undefined &&
      courseBar(scene.lesson, progress, (step, choices = '') =>
        show(lessonAfter(step, choices, sound)),
      ),
    storyPanel(scene, { move, show, data, isDone: progress.isDone }),
    verdictPanel(verdict),
    h(
      'div',
      { class: 'columns' },
      h(
        'section',
        { class: 'left', 'aria-label': 'The protocol' },
        figurePanel(engine.FIGURE, picture),
      ),
      h(
        'section',
        { class: 'middle', 'aria-label': 'What is stored' },
        cellsPanel(picture, before),
        diagram(story, at, scenario.processes.length),
        logPanel(story, at),
      ),
      h(
        'section',
        { class: 'right', 'aria-label': 'What may happen next' },
        processesPanel(picture, choose),
        messagesPanel(picture, choose),
      ),
    ),
    h('footer', {}, FOOTER),
  );
}

function seenAt(
  story: PlayedStory | undefined,
  at: number,
  verdict: Telling['verdict'],
): Seen | undefined {
  const picture = story?.pictures[at];
  if (story === undefined || picture === undefined) return undefined;
  const log = story.pictures.slice(0, at + 1).flatMap((one) => one.log);
  return { log, picture, claims: (verdict ?? []).map(({ claim }) => claim) };
}

const COURSE_LINK = h('a', { href: '#course-1' }, 'Or take the course: ten steps.');
const LEAD = 'Transactions on a storage that has none. ';
const LEAD_ON = 'Press Begin, or crash a process and see who cleans up. ';
const FOOTER =
  'This page is the engine itself: the code of percolator-bench runs in your browser, on a storage in memory. No message moves and no time passes unless you say so. The judges are those of its simulator.';

function top(scene: Scene, show: (scene: Scene) => void, engine: ExplorerEngine): ComponentChild {
  const go = (name: string): void => {
    if (name.startsWith('/')) {
      show({ scenario: name.slice(1), choices: [], at: 0 });
    } else show(sceneOf({ kind: 'entry', name, isSound: false }, engine));
  };
  return h(
    'header',
    {},
    h(
      'div',
      {},
      h('h1', {}, 'Percolator, step by step'),
      h(
        'p',
        { class: 'lead' },
        LEAD,
        scene.entry !== undefined && LEAD_ON,
        scene.lesson === undefined && COURSE_LINK,
      ),
    ),
    h(
      'label',
      {},
      h('span', { class: 'chosen' }, 'Story'),
      h(
        'select',
        {
          id: 'stories',
          onChange: ({ currentTarget }: { currentTarget: HTMLSelectElement }) =>
            go(currentTarget.value),
        },
        scene.entry === undefined &&
          scene.lesson === undefined &&
          h('option', { value: `/${scene.scenario}`, selected: true }, 'your own story'),
        h(
          'optgroup',
          { label: 'Course' },
          COURSE.map(({ name, title }, i) =>
            h(
              'option',
              { value: name, selected: scene.lesson?.name === name },
              `${i + 1}. ${title}`,
            ),
          ),
        ),
        h(
          'optgroup',
          { label: 'Stories' },
          GALLERY.map(({ name, title, rule }) =>
            h(
              'option',
              { value: name, selected: scene.entry?.name === name },
              rule === undefined ? title : `${rule}: ${title}`,
            ),
          ),
        ),
        h('optgroup', { label: 'Make your own' }, scenarioOptions(engine, false)),
        h('optgroup', { label: 'Small cases of ./run.sh exhaust' }, scenarioOptions(engine, true)),
      ),
    ),
  );
}

/** @param searched whether those of the exhaustive search, or the others */
function scenarioOptions({ SCENARIOS }: ExplorerEngine, searched: boolean): ComponentChild {
  return SCENARIOS.filter(({ name }) => name.startsWith('exhaust-') === searched).map(
    ({ name, about }) => h('option', { value: `/${name}` }, about),
  );
}

/** The part of the entry that the next choice belongs to. */
function partAt({ parts }: GalleryEntry, at: number, engine: ExplorerEngine): number {
  let end = 0;
  for (const [i, { choices }] of parts.entries()) {
    end += engine.oneByOne(engine.readChoices(choices)).length;
    if (at < end) return i;
  }
  return parts.length;
}

function storyPanel(
  scene: Scene,
  {
    move,
    show,
    data,
    isDone,
  }: {
    readonly move: (at: (now: number) => number) => void;
    readonly show: (scene: Scene) => void;
    readonly data: PageData;
    /** Whether the step of the course is done. */
    readonly isDone: boolean;
  },
): ComponentChild {
  const { entry, at, choices, mutant } = scene;
  const part = entry === undefined ? 0 : partAt(entry, at, engineFor(data, undefined));
  const hasRule = entry?.mutant !== undefined;
  return h(
    'section',
    { class: 'story', 'aria-live': 'polite' },
    tale(scene, saysAt(scene, part), isDone),
    h(
      'div',
      { class: 'controls' },
      stepControls(at, choices.length, move),
      hasRule &&
        h(
          'button',
          {
            id: 'rule',
            class: mutant === undefined ? 'sound' : 'broken',
            title: 'The same choices on the other engine',
            onClick: () =>
              show({ ...scene, mutant: mutant === undefined ? entry.mutant : undefined, at: 0 }),
          },
          mutant === undefined ? `with rule ${entry.rule}` : `WITHOUT rule ${entry.rule}`,
        ),
      entry === undefined && lackBadge(mutant),
    ),
  );
}

/** Away from its story nothing else says that the engine lacks a rule. */
function lackBadge(mutant: string | undefined): ComponentChild {
  const entry = GALLERY.find((one) => one.mutant === mutant);
  if (mutant === undefined || entry === undefined) return undefined;
  return h('strong', { class: 'badge' }, `WITHOUT rule ${entry.rule}`);
}

/** @param says what the story says at this moment; the course says something of its own */
function tale({ entry, lesson }: Scene, says: string, isDone: boolean): ComponentChild {
  return h(
    'div',
    { class: 'tale' },
    h('h2', {}, (lesson ?? entry)?.title ?? 'Your own story'),
    h(
      'p',
      { id: 'says' },
      lesson === undefined ? says : isDone ? `Done. ${lesson.learned}` : lesson.asks,
    ),
  );
}

const OWN =
  'Choose what happens next: deliver or lose a message, begin a task, let a process die. Go back with the slider and choose otherwise. The address of this page is a link to this story.';

function saysAt({ entry, mutant }: Scene, part: number): string {
  const says = entry?.parts[part]?.says;
  if (says === undefined) return endOf(entry, mutant);
  const isSwitchedOn = entry?.mutant !== undefined && mutant === undefined;
  return isSwitchedOn ? `Rule ${entry.rule} is on now; without it: “${says}”` : says;
}

function endOf(entry: GalleryEntry | undefined, shown: string | undefined): string {
  if (entry === undefined) return OWN;
  const { mutant, rule } = entry;
  if (mutant === undefined) {
    return 'That is the end of this story. Go back, and choose otherwise: every card and button works at any moment.';
  }
  return shown === undefined
    ? `With rule ${rule} the same choices end well. Choices that are not possible here were passed over.`
    : `That is what rule ${rule} is for. Press the red button to see the same choices on the engine with the rule.`;
}

async function start(): Promise<void> {
  const data = await readData<PageData>(document.getElementById('data')?.textContent ?? '');
  Object.assign(globalThis, { explorer: { load: (mutant?: string) => engineFor(data, mutant) } });
  const root = document.getElementById('app');
  if (root !== null) render(h(App, { data }), root);
}

void start();
