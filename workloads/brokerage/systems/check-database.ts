/** Checks a database at rest, and reports in sentences. */
import { checkBrokerage, shorten } from '../check/index.ts';
import type { Population } from '../model/index.ts';
import type { DatabaseAddress } from './address.ts';
import { openBrokerage } from './open-brokerage.ts';

/**
 * Returns the first few findings of each condition.
 * @param acknowledged the number of Trade-Results that clients know to be committed
 */
export async function checkDatabase(
  address: DatabaseAddress,
  population: Population,
  acknowledged: number,
): Promise<readonly string[]> {
  const opened = await openBrokerage(address);
  try {
    const tradeResults = { acknowledged, inFlightMax: 0 };
    const options = { population, isDrained: true, tradeResults };
    const { findings } = await checkBrokerage(opened.brokerage, options);
    const more = shorten(await opened.checkMore());
    return [...findings, ...more.findings].map(
      ({ condition, message }) => `${condition}: ${message}`,
    );
  } finally {
    await opened.close();
  }
}
