/**
 * Following redirects: to the first address that is none, over at most `REDIRECTS_MAX` redirects.
 * What redirects in a circle, or further, leads nowhere.
 */
import { REDIRECTS_MAX } from './limits.ts';

/** @param targetOf where an address redirects to, if it does */
export function followRedirects(
  url: string,
  targetOf: (url: string) => string | undefined,
): string | undefined {
  let end = url;
  for (let followed = 0; followed <= REDIRECTS_MAX; followed++) {
    const target = targetOf(end);
    if (target === undefined) return end;
    end = target;
  }
  return undefined;
}
