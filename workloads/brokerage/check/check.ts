/**
 * All conditions that hold at rest, on every system. A run that breaks one has no numbers.
 *
 * The conditions are written once over "all rows of a table", so that every system faces the same
 * checks. What only one system can get wrong, the index entries of Percolator, is checked in that
 * system's folder, and its findings are of the same kind. Numbers of clauses, such as 7.3.2, are
 * those of the TPC-E specification.
 */
import type { Brokerage, Population } from '../model/index.ts';
import { checkBrokers } from './conditions/brokers.ts';
import { checkLots } from './conditions/lots.ts';
import { checkPositions } from './conditions/positions.ts';
import { checkBalances, checkSettlements } from './conditions/settlements.ts';
import { checkTradeStatus } from './conditions/trade-status.ts';
import { type Facts, gatherFacts } from './facts.ts';
import type { Finding } from './finding.ts';

export interface CheckOptions {
  /** The population that was loaded. */
  readonly population: Pick<Population, 'rows' | 'roster'>;
  /** Whether every submitted trade should be completed by now. */
  readonly isDrained: boolean;
  /**
   * Trade-Results that were acknowledged to drivers, and the maximum that may have committed
   * without an answer.
   */
  readonly tradeResults?:
    | { readonly acknowledged: number; readonly inFlightMax: number }
    | undefined;
}

export interface CheckReport {
  /** The first few findings of each condition. */
  readonly findings: readonly Finding[];
  /** The number of all findings. */
  readonly broken: number;
  /** Number of trades that were checked. */
  readonly trades: number;
}

const FINDINGS_MAX = 20;

/** Nothing else may run during the check. */
export async function checkBrokerage(
  brokerage: Pick<Brokerage, 'tables' | 'brokerUpdate' | 'settled'>,
  options: CheckOptions,
): Promise<CheckReport> {
  await brokerage.settled();
  const facts = await gatherFacts(brokerage.tables);
  const { roster } = options.population;
  const loaded = {
    accounts: options.population.rows('customer_account'),
    lastTradeId: roster.trades.lastId,
  };
  const found = [
    // The paper's variant leaves the totals unchanged.
    brokerage.brokerUpdate === 'omit' ? [] : checkBrokers(facts),
    checkPositions(facts),
    checkLots(facts),
    checkTradeStatus(facts, options),
    checkSettlements(facts),
    checkBalances(facts, loaded),
    checkAcknowledged(facts, options),
  ];
  return {
    ...shorten(found.flatMap((findings) => Array.from(findings))),
    trades: facts.trades.size,
  };
}

/** Returns the first few findings of each condition, and the number of all findings. */
export function shorten(findings: readonly Finding[]): Pick<CheckReport, 'findings' | 'broken'> {
  const groups = Map.groupBy(findings, ({ condition }) => condition);
  const first = [...groups.values()].flatMap((group) => group.slice(0, FINDINGS_MAX));
  return { findings: first, broken: findings.length };
}

/**
 * Acknowledged trades are present, and all present trades were acknowledged or in flight (7.5.7,
 * step 13).
 */
function* checkAcknowledged(
  { settlements, trades }: Facts,
  { tradeResults, population }: CheckOptions,
): Generator<Finding> {
  if (tradeResults === undefined) return;
  const { acknowledged, inFlightMax } = tradeResults;
  const { lastId } = population.roster.trades;
  const added = [...trades].filter(
    ([id, one]) => id > lastId && one.settlement !== undefined,
  ).length;
  if (acknowledged <= added && added <= acknowledged + inFlightMax) return;
  const message =
    `${acknowledged} Trade-Results were acknowledged, at most ${inFlightMax} more were in flight, ` +
    `and ${added} of ${settlements} settlements are new`;
  yield { condition: 'acknowledged trades', message };
}
