/**
 * The claims of the deck: whenever it is used up, the mix is exact, and only the order is random.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '#engine';
import { type Card, CARDS, Deck, DECK_SIZE, MIX_OF_DECK, TRADES_OF_DECK } from './deck.ts';

function deal(deck: Deck, count: number): readonly Card[] {
  return Array.from({ length: count }, () => deck.deal());
}

function countsOf(cards: readonly Card[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const card of cards) counts[card] = (counts[card] ?? 0) + 1;
  return counts;
}

test('every 890 cards have exactly the mix of the specification', () => {
  const deck = new Deck(createRandom(1));
  assert.equal(DECK_SIZE, 890);
  for (let round = 0; round < 5; round++) {
    assert.deepEqual(countsOf(deal(deck, DECK_SIZE)), CARDS);
  }
});

test('with the transactions of the exchange, shares are those of table 1.5', () => {
  const marketFeeds = TRADES_OF_DECK / 10;
  assert.equal(DECK_SIZE + TRADES_OF_DECK + marketFeeds, MIX_OF_DECK);
});

test('the same seed deals the same cards, another seed others', () => {
  const cards = deal(new Deck(createRandom(1)), 2_000);
  assert.deepEqual(deal(new Deck(createRandom(1)), 2_000), cards);
  assert.notDeepEqual(deal(new Deck(createRandom(2)), 2_000), cards);
});

test('decks are shuffled anew', () => {
  const deck = new Deck(createRandom(1));
  assert.notDeepEqual(deal(deck, DECK_SIZE), deal(deck, DECK_SIZE));
});

test('each place of the deck has each kind of card as often as its share', () => {
  const deck = new Deck(createRandom(1));
  const decks = 400;
  const firsts = Array.from({ length: decks }, () => deal(deck, DECK_SIZE)[0] as Card);
  const statuses = firsts.filter((card) => card === 'tradeStatus').length;
  const share = CARDS.tradeStatus / DECK_SIZE;
  const deviation = Math.sqrt(share * (1 - share) * decks);
  assert.ok(Math.abs(statuses - share * decks) < 4 * deviation, `${statuses}`);
});
