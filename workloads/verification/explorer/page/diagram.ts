/**
 * The space-time diagram: a line for each process, for the oracle, and for each row; a message is
 * an arrow from the step at which it was sent to the one at which it arrived. Steps go to the
 * right.
 */
import { type ComponentChild, h } from 'preact';
import type { ExplorerEvent } from '../world/world.ts';
import { colourOf, placeNames } from './panels.ts';
import type { PlayedStory } from '../world/picture.ts';

const STEP = 30;
const LANE = 34;
const LEFT = 16;
/** The names of the lanes stay where they are while the steps scroll. */
const NAMES = 84;
const TOP = 18;
const LEGEND =
  'A line is a message, its dot the moment at which it is applied, the dotted line its answer. Hollow: refused. Dashed: a copy. Crossed: lost, or dead.';

export function diagram(
  { pictures, events }: PlayedStory,
  at: number,
  processes: number,
): ComponentChild {
  const last = pictures.at(-1);
  const now = pictures[at]?.steps ?? 0;
  const places = placeNames(last?.rows ?? []);
  const rows = [...places.keys()];
  const names = [...(last?.actors ?? []).map(({ role }) => role), 'oracle', ...places.values()];
  /** The lanes of a place; those of all rows of a table. */
  const lanesOf = (place: string): readonly number[] => {
    if (place === 'oracle') return [processes];
    const named = place.replace('.notify', '');
    const isThere = (row: string): boolean => row === named || row.startsWith(`${named}/`);
    const found = rows.flatMap((row, i) => (isThere(row) ? [processes + 1 + i] : []));
    return found.length === 0 ? [processes + 1] : found;
  };
  const width = LEFT + (pictures.length + 1) * STEP;
  const height = TOP + names.length * LANE;
  const x = (step: number): number => LEFT + step * STEP;
  const y = (lane: number): number => TOP + lane * LANE + 6;
  return h(
    'div',
    { class: 'panel diagram' },
    h('h3', {}, 'Who told what to which row, and when'),
    h('p', { class: 'hint' }, LEGEND),
    h(
      'div',
      { class: 'lanes' },
      h(
        'svg',
        { width: NAMES, height, 'aria-hidden': 'true' },
        names.map((name, lane) =>
          h('text', { x: 4, y: y(lane) + 4, class: 'lane' }, name.slice(0, 13)),
        ),
      ),
      h(
        'div',
        { class: 'scroll' },
        h(
          'svg',
          {
            width,
            height,
            viewBox: `0 0 ${width} ${height}`,
            role: 'img',
            'aria-label': 'Space-time diagram',
          },
          h('rect', { class: 'now', x: x(now) - STEP / 2, y: 0, width: STEP, height, rx: 6 }),
          names.map((_, lane) =>
            h('line', {
              class: 'lane',
              x1: LEFT,
              x2: width,
              y1: y(lane),
              y2: y(lane),
              style: lane < processes ? { stroke: colourOf(lane) } : {},
            }),
          ),
          events.map((event) =>
            h('g', { class: event.step > now ? 'later' : '' }, mark(event, { x, y, lanesOf })),
          ),
        ),
      ),
    ),
  );
}

interface Places {
  readonly x: (step: number) => number;
  readonly y: (lane: number) => number;
  readonly lanesOf: (place: string) => readonly number[];
}

function mark(
  { step, kind, process = 0, message, answer }: ExplorerEvent,
  { x, y, lanesOf }: Places,
): ComponentChild {
  const stroke = colourOf(process);
  if (message === undefined) {
    if (kind === 'crash') return cross(x(step), y(process), stroke);
    if (kind === 'start') {
      return h('circle', { cx: x(step), cy: y(process), r: 4, style: { fill: stroke } });
    }
    const above = kind === 'time' ? TOP - 6 : y(process) - 6;
    const style = { fill: kind === 'time' ? 'var(--quiet)' : stroke };
    return h('text', { class: 'event', x: x(step), y: above, style }, SHORT[kind] ?? kind);
  }
  const { request } = message;
  const place =
    'row' in request && request.table !== 'timestamp-oracle'
      ? `${request.table}/${request.row}`
      : 'range' in request
        ? request.table
        : 'oracle';
  const from = { x: kind === 'copy' ? x(step) - STEP / 2 : x(message.sentAt), y: y(process) };
  const lanes = lanesOf(place);
  const to = { x: x(step), y: y(lanes.at(-1) ?? 0) };
  const isLost = kind === 'lose' || kind === 'give up';
  const end = isLost ? { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 } : to;
  const refused =
    request.kind === 'check' && answer === (request.ifFound === undefined ? 'found' : 'not found');
  return h(
    'g',
    {},
    h('title', {}, `${message.sender}: ${request.kind} ${place} ${answer ?? ''}`),
    h('line', {
      class: kind === 'copy' ? 'arrow copy' : 'arrow',
      x1: from.x,
      y1: from.y,
      x2: end.x,
      y2: end.y,
      style: { stroke },
    }),
    isLost
      ? cross(end.x, end.y, stroke)
      : lanes.map((lane) =>
          h('circle', {
            class: refused ? 'refused' : '',
            cx: end.x,
            cy: y(lane),
            r: 4,
            style: { fill: refused ? 'var(--ground)' : stroke, stroke },
          }),
        ),
    !isLost &&
      kind === 'deliver' &&
      h('line', {
        class: 'answer',
        x1: to.x,
        y1: to.y,
        x2: to.x + STEP / 3,
        y2: y(process),
        style: { stroke },
      }),
  );
}

const SHORT: Partial<Record<ExplorerEvent['kind'], string>> = {
  restart: 'again',
  suspend: 'pause',
  resume: 'on',
  'presume dead': 'dead?',
};

function cross(x: number, y: number, stroke: string): ComponentChild {
  const d = `M${x - 6} ${y - 6}L${x + 6} ${y + 6}M${x - 6} ${y + 6}L${x + 6} ${y - 6}`;
  return h('path', { d, class: 'cross', style: { stroke } });
}
