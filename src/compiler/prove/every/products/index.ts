/**
 * Products, for every length: what `every` shows of kernels without products it shows here of those whose blocks multiply tiles in roles, and share the depth of some.
 * docs/PROOF.md, "Products", says what is shown and why it is enough.
 */
import { bufferOf, type Kernel, multiplies, type Op, type Region, text } from "../../../ir/module.js";
import { printKernel } from "../../../ir/print.js";
import { walkKernel } from "../../../ir/visit.js";
import { NO_SPAN } from "../../../source.js";
import { NotShown } from "../conditions.js";
import { equal, type Form, plus, product } from "../forms.js";
import { checkAnswer } from "./answer.js";
import { stored } from "./epilogue.js";
import { type Filled, filledBy, Fillings } from "./filled.js";
import { argumentOf, expect, Follow, type Makers, makersOf, refuse, Steps } from "./follow.js";
import { Known } from "./known.js";
import { type Gathered, gatheredBy, type Gathering, gatheringOf } from "./gathering.js";
import { Iteration, type Multiplied, type Operand } from "./iterations.js";
import { Launches } from "./launches.js";
import { kept, orderOf, Outgoing, sent, TileWords } from "./leaving.js";
import { Movers } from "./movers.js";
import { Atoms, NeedsCase, Numbers } from "./numbers.js";
import { Pieces } from "./pieces.js";
import type { WithoutProducts } from "./replaced.js";
import { LENGTH } from "./sending.js";
import { checkBegin, checkCounted, decideRests, readLaunches, through, Ways } from "./shared.js";

/** Cases that are looked at, at most; of each rank. */
const MOST_CASES = 4000;

/** Whether a kernel is one that is looked at here. */
export function hasRoles(kernel: Kernel): boolean {
  const isRoles = (r: Region): boolean => r.ops.some((op) => op.name === "roles" || op.regions.some(isRoles));
  return multiplies(kernel) && isRoles(kernel.body);
}

/**
 * Shows that a kernel's ordering holds for every length, and its answer.
 * @param whereAnswered takes what asks for the answer alone
 * @returns kernels without products of which the same has to be shown: none where ranks compute alone
 * @throws NotShown
 */
export function checkProducts(kernel: Kernel, whereAnswered: (of: () => void) => void): readonly WithoutProducts[] {
  const gathered = gatheredBy(kernel);
  const filled = filledBy(kernel);
  const isShared = areShared(kernel, gathered, filled);
  const makers = makersOf(kernel);
  const atoms = new Atoms();
  const known = new Known();
  const ways = new Ways();
  const hasRanks = isShared || gathered !== null || filled !== null;
  /** Looks at all cases. */
  const eachCase = (look: (launch: Product) => void): void => {
    const cases = [new Follow(kernel, makers, new Numbers(atoms, new Map()), hasRanks)];
    const most = MOST_CASES * (isShared ? kernel.world : 1);
    for (let looked = 0; cases.length > 0; looked++) {
      if (looked === most) throw new NotShown("there are too many cases of lengths", NO_SPAN);
      const follow = cases.pop()!;
      try {
        // An iteration and the block that has it are any: their bounds are said where they are named first.
        follow.numbers.named("grid", 1, kernel.maxBlocks);
        look(new Product(follow, makers, whereAnswered, known, ways, { gathered, filled }));
      } catch (e) {
        if (!(e instanceof NeedsCase)) throw e;
        // Where rows are gathered, one value stands for several numbers, one after the other: there each case begins anew.
        for (const more of e.options) cases.push(follow.assuming(more, gathered === null));
      }
    }
  };
  if (filled !== null) {
    const fillings = new Fillings(kernel, filled);
    eachCase((launch) => launch.checkFilled(fillings));
    return fillings.kernels(known.owned);
  }
  if (gathered === null) {
    eachCase((launch) => (isShared ? launch.checkShared() : launch.check()));
    return isShared ? ways.kernels(kernel.world, known.owned) : [];
  }
  // What movers do does not depend on tiles: their cases are others.
  const sent = new Map<string, WithoutProducts>();
  eachCase((launch) => {
    const copies = launch.checkMovers();
    if (copies !== null) sent.set(printKernel(copies), { kernel: copies, product: null, shapes: [{ [LENGTH]: 24 }] });
  });
  eachCase((launch) => launch.check());
  return [...sent.values()];
}

/** Whether ranks share a product. @throws NotShown where they do in a way that is not followed, or with other kernels */
function areShared(kernel: Kernel, gathered: Gathered | null, filled: Filled | null): boolean {
  let roles: Op | undefined;
  walkKernel(kernel, (op) => void (op.name === "roles" && (roles ??= op)));
  const other = kernel.buffers.find(
    ({ memory, role }) => memory !== undefined || role === "inout" || (role === "packet" && gathered !== null),
  );
  if (other !== undefined)
    throw new NotShown(`there is a 'roles', beside which '${other.name}' is not followed`, roles!.span);
  // What is multiplied is the rank's own.
  walkKernel(kernel, (op) => {
    const from = op.name === "copy_tile" ? bufferOf(kernel, text(op, "from")) : null;
    const isKnown = from?.name === gathered?.buffer || from?.name === filled?.buffer;
    if (from !== null && (from.role !== "input" || from.symmetric) && !isKnown)
      throw new NotShown(`what is multiplied comes from other ranks, in '${from.name}'`, op.span);
  });
  return gathered === null && filled === null && kernel.buffers.some((b) => b.symmetric);
}

/** Roles without movers, from which no tiles leave. */
function checkPlain(roles: Op): void {
  const { attributes, regions } = roles;
  const [, , movers] = regions as readonly [Region, Region, Region];
  const isPlain = attributes["movers"] === undefined && attributes["outgoing"] === undefined;
  if (!isPlain || movers.ops.length > 0) refuse(movers.ops[0] ?? roles);
}

/** Each case goes through the same kernel. */
const rolesOf = new WeakMap<Kernel, readonly Region[]>();

/** A launch on one rank, and any one iteration of the loop over blocks in it, in one case. */
class Product {
  private readonly launches: Launches;
  private readonly iteration: Iteration;

  constructor(
    private readonly follow: Follow,
    private readonly makers: Makers,
    private readonly whereAnswered: (of: () => void) => void,
    private readonly known: Known,
    private readonly ways: Ways,
    private readonly operand: Operand,
  ) {
    // What is said of inputs and outputs here is said of the dimensions that the signature gives them.
    const { inputs, outputs } = follow.kernel;
    const isAsSigned = [...inputs, ...outputs].every(({ name, shape }) => follow.shape(name).length === shape.length);
    if (!isAsSigned) throw new NotShown("dimensions of a product that are one in memory are not followed", NO_SPAN);
    this.launches = new Launches(follow);
    this.iteration = new Iteration(follow, known, operand);
  }

  /** A launch in which the rank does nothing else but gather what it multiplies. */
  check(): void {
    const { launches } = this;
    const { gathered } = this.operand;
    decideRests(this.follow, this.makers, this.regions);
    const gathering = gathered === null ? null : this.launchOf(gathered);
    const alone = gathering === null ? this.alone() : null;
    const { roles } = (gathering ?? alone)!;
    const of = this.iteration.multiplied(roles, gathering);
    if (of === null) return;
    // Ranks begin with tiles of their own.
    this.iteration.checkPlace(of, gathered !== null);
    this.checkStored(of, gathered !== null);
    if (alone === null) return;
    if (launches.counter !== null) launches.grow(alone.end.next("for", "threads"));
    alone.end.end();
  }

  /** The rank stores what it has multiplied. @param isGathered whether that has rows of all ranks */
  private checkStored(of: Multiplied, isGathered: boolean): void {
    const { follow } = this;
    const { steps, tile, consuming, factors, output } = of;
    if (this.isSummed(of)) {
      const made = stored(follow, steps, tile, null, false);
      const [store, ...others] = made.stores;
      const isOutput = store?.buffer === output.name && others.length === 0;
      expect(isOutput, "something else is stored than the output", made.loop);
      expect(store.peer === null, "an element is stored elsewhere", store.op);
      const place = plus(product(made.row, tile.all), made.column);
      expect(equal(store.index, place), "an element is stored in another place", store.op);
      made.checkLanes(store, true);
      this.whereAnswered(() => checkAnswer(follow.kernel, output, consuming, made.made, factors, isGathered));
    }
    steps.end();
  }

  /** A launch in which what is multiplied was filled before. */
  checkFilled(fillings: Fillings): void {
    const { follow, makers, launches } = this;
    const launch = through(follow, makers);
    const { roles } = launch;
    checkPlain(roles);
    fillings.goes(launch);
    const of = this.iteration.multiplied(roles, null);
    if (of !== null) {
      this.iteration.checkPlace(of, false);
      this.checkStored(of, true);
    }
    checkCounted(launches, launch);
  }

  /** A launch in which a rank has to do with no other. */
  private alone(): { readonly roles: Op; readonly end: Steps } {
    const { follow, launches } = this;
    const { body } = follow.kernel;
    const all = follow.steps(body);
    const steps = new Steps(all, all[0] ?? body.ops[0]!);
    while (steps.isNext("load")) launches.read(steps.next("load"));
    const roles = steps.next("roles");
    checkPlain(roles);
    return { roles, end: steps };
  }

  /** What consumers and producers do. */
  private get regions(): readonly Region[] {
    const { kernel } = this.follow;
    let all = rolesOf.get(kernel);
    if (all === undefined) {
      const found: Region[] = [];
      walkKernel(kernel, (op) => void (op.name === "roles" && found.push(...op.regions.slice(0, 2))));
      rolesOf.set(kernel, (all = found));
    }
    return all;
  }

  /** A launch in which movers gather what is multiplied. */
  private launchOf(gathered: Gathered): Gathering {
    return gatheringOf(this.follow, this.makers, this.known, this.launches, gathered);
  }

  /** What movers send in a turn, of which it has to be shown that it is a copy; null where that is nothing. */
  checkMovers(): Kernel | null {
    return new Movers(this.launchOf(this.operand.gathered!)).check();
  }

  /** A launch in which ranks add up what they have multiplied. */
  checkShared(): void {
    const { follow, makers, launches, ways } = this;
    const { kernel, numbers } = follow;
    const launch = through(follow, makers);
    const { roles, ops } = launch;
    const movers = new Steps(follow.steps(roles.regions[2]!), roles);
    const moving = movers.isNext("for", "blocks") ? movers.next("for", "blocks") : null;
    const own = moving === null ? null : follow.length(moving);
    const isLeaving = own !== null && own.size > 0;
    // What is left without products has one.
    if (kernel.outputs.length > 1) throw new NotShown("ranks add up several products", NO_SPAN);
    readLaunches(launches, launch, makers);
    // Each rank has other tiles of its own: that is asked before they are looked at.
    const rank = isLeaving ? follow.eachRank() : null;
    const of = this.iteration.multiplied(roles, null);
    if (of === null) return;
    const { tile, plan, steps } = of;
    const factors = [of.factors[0], of.factors[1]] as const;
    expect(tile.twin === null, "ranks add up a pair of products", roles);
    const { rows, all } = tile;
    const found = ways.at(launch.key, rank, () => {
      return { kernel, makers, numbers, ops, roles, factors, rows, all };
    });
    movers.end();
    if (isLeaving) this.leave(roles, of, { moving: moving!, own }, found);
    else {
      this.iteration.checkPlace(of, true);
      if (plan.piece !== null) checkBegin(follow, launch);
      if (this.isSummed(of)) found.sent(sent(follow, launches, steps, tile));
      steps.end();
    }
    checkCounted(launches, launch);
  }

  /** Tiles of other ranks leave by movers, and those of the rank's own come behind. */
  private leave(
    roles: Op,
    { tile, plan, extent, steps, t }: Multiplied,
    { moving, own }: { readonly moving: Op; readonly own: Form },
    found: ReturnType<Ways["at"]>,
  ): void {
    const { follow, known, launches } = this;
    const { numbers } = follow;
    expect(plan.piece === null, "tiles that leave share their depth", roles);
    const { part, isOwn } = orderOf(follow, known, moving, own, t, extent, tile, [tile.height, tile.columns]);
    const words = new TileWords(follow, known, launches, tile, extent);
    if (isOwn) {
      words.wait(steps);
      found.kept(kept(follow, steps, tile, part), launches.counter!);
      steps.end();
      return;
    }
    const grid = numbers.named("grid");
    const ring = text(roles, "outgoing");
    expect(ring !== text(roles, "ring"), "tiles leave by the stages of their factors", roles);
    const outgoing = new Outgoing(follow, known, ring, numbers.apply("div", t, grid), tile);
    const lies = outgoing.put(steps);
    steps.end();
    follow.set(argumentOf(moving), t);
    const sending = new Steps(follow.steps(moving.regions[0]!), moving);
    found.sent(outgoing.send(sending, lies, part, words));
    sending.end();
  }

  /** Whether an iteration has the sum of its tile in the end: else it keeps it for the block that has the tile's last piece, which adds it up. */
  private isSummed({ roles, steps, plan: { piece }, tile }: Multiplied): boolean {
    if (piece === null) return true;
    const pieces = new Pieces(this.follow, this.launches, this.known, roles);
    if (piece.isLast) pieces.add(steps, piece, tile);
    else pieces.keep(steps, piece, tile);
    return piece.isLast;
  }
}
