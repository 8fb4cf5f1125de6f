/** News of the 50 days before the first trade: two items about each company, made of few words. */
import type { Roster, Row, Scale } from '../../model/index.ts';
import { dayAt } from '../calendar.ts';
import { companyId, ID_SHIFT } from '../ids.ts';
import { integerAt, LANE } from '../lanes.ts';
import { FIRST_NAMES, LAST_NAMES, NEWS_WORDS, TOWNS } from '../words.ts';

const ITEMS_PER_COMPANY = 2;
/**
 * Length of the text that bodies are cut from. Their starting points are random, so two bodies are
 * equal only by chance.
 */
const TEXT_WORDS = 40_000;

export function* newsItemRows(
  roster: Roster,
  { newsBytes }: Scale,
  seed: number,
): Generator<Row<'news_item'>> {
  const text = newsText(seed);
  for (let i = 0; i < roster.companies * ITEMS_PER_COMPANY; i++) {
    const draw = (n: number, size: number): number => integerAt(seed + n, LANE.news, i, size);
    const start = draw(0, text.length - newsBytes - 300);
    yield {
      ni_id: newsId(i),
      ni_headline: text.slice(start, start + 60),
      ni_summary: text.slice(start, start + 200),
      ni_item: text.slice(start, start + newsBytes),
      ni_dts: dayAt(-1 - draw(1, 50)) + draw(2, 86_400) * 1_000,
      ni_source: `The ${TOWNS[draw(3, TOWNS.length)]} Post`,
      ni_author: `${FIRST_NAMES[draw(4, FIRST_NAMES.length)]} ${LAST_NAMES[draw(5, LAST_NAMES.length)]}`,
    };
  }
}

export function* newsXrefRows({ companies }: Roster): Generator<Row<'news_xref'>> {
  for (let i = 0; i < companies * ITEMS_PER_COMPANY; i++) {
    yield { nx_ni_id: newsId(i), nx_co_id: companyId(Math.floor(i / ITEMS_PER_COMPANY)) };
  }
}

function newsId(index: number): number {
  return ID_SHIFT + index + 1;
}

function newsText(seed: number): string {
  const word = (i: number): string =>
    NEWS_WORDS[integerAt(seed, LANE.news, i, NEWS_WORDS.length)] ?? '';
  return Array.from({ length: TEXT_WORDS }, (_, i) => word(i)).join(' ');
}
