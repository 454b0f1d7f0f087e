/** Does everything, one after the other, whatever fails on the way. @throws the first failure, at the end. */
export async function allOf(actions: readonly (() => unknown)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const action of actions) {
    try {
      await action();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
