/**
 * Stores to peers' memory that nobody has released: of these alone, the end of a launch does not say that they have arrived. By entity, how many
 * strands have such stores, in its phase and before it.
 */
export class FarStores {
  private readonly now: Int32Array;
  private readonly before: Int32Array;

  constructor(entities: number) {
    this.now = new Int32Array(entities);
    this.before = new Int32Array(entities);
  }

  /** A strand has the first of its own, or by a release of its own no more. */
  count(entity: number, by: 1 | -1): void {
    this.now[entity]! += by;
  }

  endPhase(entity: number): void {
    this.before[entity]! += this.now[entity]!;
    this.now[entity] = 0;
  }

  /** A release that reaches peers covers all that the block did before it last met. */
  release(entity: number): void {
    this.before[entity] = 0;
  }

  /** What movers have not released, their block may release, once it has met. */
  passOn(movers: number, block: number): void {
    this.now[block]! += this.before[movers]!;
    this.before[movers] = 0;
  }

  /** Whether entities from one to before another have left none. */
  areNone(from: number, to: number): boolean {
    return this.before.subarray(from, to).every((count) => count === 0);
  }
}
