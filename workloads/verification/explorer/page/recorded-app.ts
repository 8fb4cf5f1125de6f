/** The page of a recorded run (recording.ts): the explorer's pictures, with nothing to choose. */
import { type ComponentChild, h, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { RecordedSimulation } from '../recording.ts';
import type { Picture, PictureRow } from '../world/picture.ts';
import { diagram } from './diagram.ts';
import { readData } from './loader.ts';
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

type PackedPicture = Omit<Picture, 'rows'> & { readonly rows?: readonly PictureRow[] | undefined };
type PackedRecording = Omit<RecordedSimulation, 'story'> & {
  readonly story: Omit<RecordedSimulation['story'], 'pictures'> & {
    readonly pictures: readonly PackedPicture[];
  };
};

const LEAD =
  'What happened in one run of ./run.sh simulate, message by message. Nothing can be chosen otherwise: the page shows a recording.';
const ABOUT =
  "It ends with what the judges found. What processes ask of the engine's own tables is left out; the oracle's table is the oracle.";

function App({ recording }: { readonly recording: RecordedSimulation }): ComponentChild {
  const { seed, violations, figure, story, leftOut } = recording;
  const last = story.pictures.length - 1;
  const [at, setAt] = useState(0);
  const move = (to: (now: number) => number): void =>
    setAt((now) => Math.max(0, Math.min(last, to(now))));
  useArrows(move);
  useEffect(scrollToNow, [at]);
  const picture = story.pictures[at];
  if (picture === undefined) return h('p', {}, 'Nothing was recorded.');
  const processes = story.pictures[last]?.actors.length ?? 0;
  const left = `Steps left out: ${leftOut.before} before these, ${leftOut.after} after.`;
  return h(
    'main',
    {},
    h(
      'header',
      {},
      h('div', {}, h('h1', {}, `Seed ${seed}, step by step`), h('p', { class: 'lead' }, LEAD)),
    ),
    h(
      'section',
      { class: 'story' },
      h('div', { class: 'tale' }, h('p', { id: 'says' }, `${ABOUT} ${left}`)),
      h('div', { class: 'controls' }, stepControls(at, last, move)),
    ),
    verdictPanel(violations),
    h(
      'div',
      { class: 'columns' },
      h('section', { class: 'left' }, figurePanel(figure, picture)),
      h(
        'section',
        { class: 'middle' },
        cellsPanel(picture, story.pictures[at - 1]),
        diagram(story, at, processes),
        logPanel(story, at),
      ),
      h(
        'section',
        { class: 'right' },
        processesPanel(picture, undefined),
        messagesPanel(picture, undefined),
      ),
    ),
  );
}

async function start(): Promise<void> {
  const text = document.getElementById('data')?.textContent ?? '';
  const recording = unpacked(await readData<PackedRecording>(text));
  const root = document.getElementById('app');
  if (root !== null) render(h(App, { recording }), root);
}

/** Rows that are absent are those of the picture before (build.ts). */
function unpacked(packed: PackedRecording): RecordedSimulation {
  const { pictures, events } = packed.story;
  let rows = pictures[0]?.rows ?? [];
  const whole: Picture[] = [];
  for (const picture of pictures) {
    rows = picture.rows ?? rows;
    whole.push({ ...picture, rows });
  }
  return { ...packed, story: { pictures: whole, events } };
}

void start();
