/**
 * What is put into a record at the end of a run, whatever ends it.
 */

/**
 * Measures, and then keeps, also if that failed. An error of keeping does not replace the one of
 * the run, which says more.
 */
export async function keeping<T>(measure: () => Promise<T>, keep: () => void): Promise<T> {
  let result: T;
  try {
    result = await measure();
  } catch (error) {
    try {
      keep();
    } catch {
      // The record lacks it.
    }
    throw error;
  }
  keep();
  return result;
}
