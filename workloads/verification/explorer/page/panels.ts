/** The panels of the page: figure, cells, processes, messages. */
import { type ComponentChild, h } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Violation } from '../../judges/history.ts';
import type { WrittenChoice } from '../world/choice.ts';
import type { FigurePart, LineName } from '../world/figure.ts';
import type {
  Picture,
  PictureActor,
  PictureCell,
  PictureMessage,
  PictureRow,
  PlayedStory,
} from '../world/picture.ts';

/** Absent where nothing can be chosen: in a recording. */
type Choose = ((choice: WrittenChoice) => void) | undefined;

/** A process has one colour everywhere. */
export function colourOf(process: number): string {
  return `var(--process-${process % 4})`;
}

function dot(process: number, title: string): ComponentChild {
  return h('i', { class: 'dot', style: { background: colourOf(process) }, title });
}

export function figurePanel(
  figure: readonly FigurePart[],
  { messages, actors }: Picture,
): ComponentChild {
  const waiting = (name: LineName): readonly number[] => [
    ...new Set(
      messages.filter((one) => one.line === name && one.isAwaited).map(({ process }) => process),
    ),
  ];
  return h(
    'div',
    { class: 'panel figure' },
    h('h3', {}, 'The protocol: where each waits'),
    h('p', { class: 'hint' }, 'Press a line to see why it is there.'),
    figure.map(({ title, lines }) => [
      h('h4', {}, title),
      h(
        'ol',
        {},
        lines.map(({ name, text, why }) => {
          const here = waiting(name);
          return h(
            'li',
            { class: here.length > 0 ? 'here' : '' },
            h(
              'details',
              {},
              h(
                'summary',
                { title: why },
                h('code', {}, text),
                h(
                  'span',
                  { class: 'who' },
                  here.map((process) => dot(process, actors[process]?.name ?? '')),
                ),
              ),
              h('p', {}, why),
            ),
          );
        }),
      ),
    ]),
  );
}

const KINDS = [
  'data',
  'lock',
  'write',
  'rollback',
  'shared lock',
  'shared write',
  'notify',
  'weak',
  'acknowledgment write',
];
const ALWAYS = 3;

export function cellsPanel(picture: Picture, before: Picture | undefined): ComponentChild {
  const old = new Set(before?.rows.flatMap((row) => row.cells.map((cell) => keyOf(row, cell))));
  const rows = merged(picture.rows);
  const names = placeNames(picture.rows);
  const kinds = KINDS.filter(
    (kind, i) => i < ALWAYS || rows.some(({ cells }) => cells.some((cell) => cell.kind === kind)),
  );
  return h(
    'div',
    { class: 'panel cells' },
    h('h3', {}, 'What is stored'),
    h(
      'div',
      { class: 'scroll' },
      h(
        'table',
        {},
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            h('th', {}, 'cell'),
            kinds.map((kind) => h('th', {}, titleOf(kind))),
          ),
        ),
        h(
          'tbody',
          {},
          rows.map((row) =>
            h(
              'tr',
              {},
              h('th', { scope: 'row' }, `${names.get(`${row.table}/${row.row}`)}.${row.column}`),
              kinds.map((kind) =>
                h(
                  'td',
                  { class: kind },
                  row.cells
                    .filter((cell) => cell.kind === kind)
                    .map((cell) =>
                      cellView(row, cell, before !== undefined && !old.has(keyOf(row, cell))),
                    ),
                ),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

/** Rows as one names them: with their tables, if there are several. */
export function placeNames(
  rows: readonly Pick<PictureRow, 'table' | 'row'>[],
): ReadonlyMap<string, string> {
  const tables = new Set(rows.map(({ table }) => table));
  const names = rows.map(({ table, row }): [string, string] => {
    const place = `${table}/${row}`;
    return [place, tables.size === 1 ? row : place];
  });
  return new Map(names);
}

const KIND_TITLES: Readonly<Record<string, string>> = {
  'shared write': 'was shared',
  'acknowledgment write': 'acknowledged',
};

function titleOf(kind: string): string {
  return KIND_TITLES[kind] ?? kind;
}

/** A column's cells, and its notifications, which are in another row of the storage. */
function merged(rows: readonly PictureRow[]): readonly PictureRow[] {
  const groups = Map.groupBy(rows, ({ table, row, column }) => `${table}/${row}:${column}`);
  return [...groups.values()].map((group) => {
    const { table, row, column } = group[0] as PictureRow;
    return { table, row, column, cells: group.flatMap(({ cells }) => cells) };
  });
}

function keyOf({ table, row, column }: PictureRow, { kind, timestamp, text }: PictureCell): string {
  return JSON.stringify([table, row, column, kind, timestamp, text]);
}

function cellView(
  { row, column }: PictureRow,
  { kind, timestamp, text }: PictureCell,
  isNew: boolean,
): ComponentChild {
  const isPrimary = kind === 'lock' && text === `of ${row}.${column}`;
  const shown = kind === 'lock' ? (isPrimary ? 'primary' : text.replace('of', 'primary:')) : text;
  return h(
    'div',
    { class: isNew ? 'cell new' : 'cell', title: shown },
    h('span', { class: 'timestamp' }, shown === '' ? `at ${timestamp}` : `${timestamp}: `),
    shown,
  );
}

export function processesPanel({ actors, nowMs }: Picture, choose: Choose): ComponentChild {
  return h(
    'div',
    { class: 'panel processes' },
    h('h3', {}, 'Processes'),
    actors.map((actor, i) => processCard(actor, i, choose)),
    h(
      'div',
      { class: 'time' },
      h('span', {}, `${nowMs / 1_000} s`),
      choose !== undefined &&
        [
          { of: 6_000, text: '6 s pass', why: 'longer than the time to live of a lock' },
          { of: 35_000, text: '35 s pass', why: 'longer than a lease' },
          { of: 130_000, text: '2 min pass', why: 'longer than a message may be in flight' },
        ].map(({ of, text, why }) =>
          h('button', { title: why, onClick: () => choose({ kind: 'time', of }) }, text),
        ),
    ),
  );
}

function processCard(actor: PictureActor, of: number, choose: Choose): ComponentChild {
  const { name, state, says, next, isPresumedDead } = actor;
  const button = (kind: WrittenChoice['kind'], text: string, title: string): ComponentChild =>
    h('button', { title, onClick: () => choose?.({ kind, of }) }, text);
  return h(
    'div',
    { class: `card process ${state.replace(' ', '-')}`, style: { '--own': colourOf(of) } },
    h(
      'div',
      { class: 'head' },
      dot(of, name),
      h('b', {}, name),
      h('em', {}, state),
      isPresumedDead && state !== 'dead' && h('em', {}, 'presumed dead'),
    ),
    says !== '' && h('p', {}, says),
    choose !== undefined &&
      h(
        'div',
        { class: 'buttons' },
        state === 'idle' &&
          h('button', { class: 'primary', onClick: () => choose({ kind: 'start', of }) }, next),
        state !== 'dead' && button('crash', 'crash', 'It dies. What it has sent stays in flight.'),
        state === 'dead' && button('restart', 'start again', 'A new process, under a new name.'),
        state === 'paused'
          ? button('resume', 'go on', 'It hears what has waited.')
          : state !== 'dead' && button('pause', 'pause', 'It stops, and does not know.'),
        !isPresumedDead &&
          button('presume dead', 'presume dead', 'The others hear that it is dead, true or not.'),
      ),
  );
}

const TITLES: Readonly<Record<LineName, string>> = {
  start: 'a start timestamp',
  get: 'read',
  prewrite: 'prewrite',
  look: 'look',
  'commit timestamp': 'a commit timestamp',
  notify: 'notify',
  commit: 'commit',
  'roll back': 'roll back',
  heartbeat: 'heartbeat',
  scan: 'scan',
  clear: 'clear the notification',
  horizon: 'the horizon',
  collect: 'collect',
};

export function messagesPanel({ messages, arrived }: Picture, choose: Choose): ComponentChild {
  return h(
    'div',
    { class: 'panel messages' },
    h('h3', {}, 'Messages in flight'),
    messages.length === 0 &&
      h(
        'p',
        { class: 'none' },
        choose === undefined ? 'None.' : 'None. Let a process begin its task.',
      ),
    messages.map((message) => messageCard(message, choose)),
    arrived.length > 0 &&
      h(
        'details',
        {},
        h('summary', {}, 'Deliver an old message once more'),
        arrived.map(({ number, process, sender, line, place }) =>
          h(
            'button',
            { class: 'copy', onClick: () => choose?.({ kind: 'copy', of: number }) },
            dot(process, sender),
            ` ${TITLES[line]} ${placeIn(place)}`,
          ),
        ),
      ),
  );
}

function placeIn(place: string): string {
  return place === 'oracle' ? '' : place.slice(place.indexOf('/') + 1);
}

function messageCard(message: PictureMessage, choose: Choose): ComponentChild {
  const { number: of, process, sender, place, line, text, isAwaited, isMutation } = message;
  const button = (kind: WrittenChoice['kind'], label: string, title: string): ComponentChild =>
    h('button', { title, onClick: () => choose?.({ kind, of }) }, label);
  return h(
    'div',
    { class: 'card message', title: text, style: { '--own': colourOf(process) } },
    h(
      'div',
      { class: 'head' },
      dot(process, sender),
      h('b', {}, `${TITLES[line]} ${placeIn(place)}`),
      !isAwaited && h('em', {}, 'its sender is gone'),
    ),
    choose !== undefined &&
      h(
        'div',
        { class: 'buttons' },
        h(
          'button',
          { class: 'primary', onClick: () => choose({ kind: 'deliver', of }) },
          'deliver',
        ),
        isAwaited &&
          button('lose', 'lose', 'It never arrives; its sender hears that there is no answer.'),
        isAwaited &&
          isMutation &&
          button('lose answer', 'lose the answer', 'It is applied, and its sender hears nothing.'),
        isAwaited &&
          isMutation &&
          button('give up', 'too late', 'Its sender gives up; it stays in flight.'),
      ),
  );
}

/** Moves from moment to moment: back, on, and a slider. */
export function stepControls(
  at: number,
  last: number,
  move: (at: (now: number) => number) => void,
): ComponentChild {
  return [
    h('button', { id: 'back', onClick: () => move((now) => now - 1), disabled: at === 0 }, 'Back'),
    h(
      'button',
      {
        id: 'next',
        class: 'primary',
        onClick: () => move((now) => now + 1),
        disabled: at === last,
      },
      at === 0 && last > 0 ? 'Begin' : 'Next',
    ),
    h('input', {
      type: 'range',
      id: 'slider',
      'aria-label': 'Step',
      min: 0,
      max: last,
      value: at,
      onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) =>
        move(() => Number(currentTarget.value)),
    }),
    h('span', { class: 'count' }, `${at} of ${last}`),
  ];
}

export function verdictPanel(verdict: readonly Violation[] | undefined): ComponentChild {
  if (verdict === undefined) {
    return h('div', { class: 'verdict waiting', id: 'verdict' }, 'The judge looks …');
  }
  const [first] = verdict;
  if (first === undefined) {
    return h(
      'div',
      { class: 'verdict good', id: 'verdict' },
      h('b', {}, 'Consistent. '),
      'If everything stopped here, a later reader would find nothing wrong.',
    );
  }
  return h(
    'div',
    { class: 'verdict bad', id: 'verdict' },
    h('b', {}, 'Broken. '),
    verdict
      .slice(0, 3)
      .map(({ claim, message }) => h('span', { class: 'finding' }, `${claim}: ${message}. `)),
    verdict.length > 3 && `And ${verdict.length - 3} more.`,
  );
}

export function logPanel({ pictures }: PlayedStory, at: number): ComponentChild {
  const lines = pictures.slice(0, at + 1).flatMap(({ log }) => log);
  return h(
    'details',
    { class: 'log' },
    h('summary', {}, `Log: ${lines.length} lines`),
    h('pre', { id: 'log' }, lines.join('\n')),
  );
}

export function scrollToNow(): void {
  const pane = document.querySelector('.diagram .scroll');
  const now = document.querySelector('.diagram .now')?.getAttribute('x');
  if (pane !== null) pane.scrollLeft = Number(now ?? 0) - 0.6 * pane.clientWidth;
}

/** The arrow keys go back and on, except in a control that has its own use for them. */
export function useArrows(move: (at: (now: number) => number) => void): void {
  useEffect(() => {
    const press = ({ key, target }: KeyboardEvent): void => {
      if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) return;
      if (key === 'ArrowRight') move((now) => now + 1);
      if (key === 'ArrowLeft') move((now) => now - 1);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}
