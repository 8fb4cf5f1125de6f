/**
 * The answers to conditional mutations in flight, in their order. Never rejects: the answer to a
 * failed mutation is its error.
 */
export async function answersTo(
  sent: readonly Promise<boolean>[],
): Promise<readonly (boolean | Error)[]> {
  const answers = await Promise.allSettled(sent);
  return answers.map((answer) => {
    if (answer.status === 'fulfilled') return answer.value;
    return answer.reason instanceof Error ? answer.reason : new Error(String(answer.reason));
  });
}
