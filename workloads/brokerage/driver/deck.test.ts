/**
 * The claims of the deck: whenever it is used up, the mix is exact, and only the order is random.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '#engine';
import { TRANSACTIONS, type TransactionType } from '../transactions/index.ts';
import { type Card, CARDS, Deck, DECK_SIZE, MIX_OF_DECK, TRADES_OF_DECK } from './deck.ts';

function deal(deck: Deck, count: number): readonly Card[] {
  return Array.from({ length: count }, () => deck.deal());
}

function countsOf(cards: readonly Card[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const card of cards) counts[card] = (counts[card] ?? 0) + 1;
  return counts;
}

test('each 890 cards from the start are exactly the cards of the deck', () => {
  const deck = new Deck(createRandom(1));
  assert.equal(DECK_SIZE, 890);
  for (let round = 0; round < 5; round++) {
    assert.deepEqual(countsOf(deal(deck, DECK_SIZE)), CARDS);
  }
});

test('with the transactions of the exchange, shares are those of the specification', () => {
  const exchange = { tradeResult: TRADES_OF_DECK, marketFeed: TRADES_OF_DECK / 10 };
  const counts = Object.entries({ ...CARDS, ...exchange }) as [TransactionType, number][];
  for (const [type, count] of counts) {
    assert.equal((100 * count) / MIX_OF_DECK, TRANSACTIONS[type].mixPercent, type);
  }
  assert.equal(
    counts.reduce((sum, [, count]) => sum + count, 0),
    MIX_OF_DECK,
  );
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

test('the first, the middle and the last place hold each kind of card in proportion to its share', () => {
  const deck = new Deck(createRandom(1));
  const decks = Array.from({ length: 1_000 }, () => deal(deck, DECK_SIZE));
  for (const place of [0, DECK_SIZE / 2, DECK_SIZE - 1]) {
    const found = countsOf(decks.map((cards) => cards[place] as Card));
    for (const [card, count] of Object.entries(CARDS)) {
      const share = count / DECK_SIZE;
      const deviation = Math.sqrt(share * (1 - share) * decks.length);
      const off = Math.abs((found[card] ?? 0) - share * decks.length);
      assert.ok(off < 4 * deviation, `${found[card]} of ${card} at ${place}`);
    }
  }
});
