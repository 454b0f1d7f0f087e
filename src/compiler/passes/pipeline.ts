/** The pipeline, in order, on one screen. Why each stands where it does is in `README.md` beside this. */
import { chooseAlgorithms } from "./choose-algorithms.js";
import { deriveSync } from "./derive-sync.js";
import { engineCopies } from "./engine-copies.js";
import { expandBarriers } from "./expand-barriers.js";
import { expandMessages } from "./expand-messages.js";
import { forwardElements } from "./forward-elements.js";
import { forwardScratch } from "./forward-scratch.js";
import { fuseRows } from "./fuse-rows.js";
import { inferSymmetric } from "./infer-symmetric.js";
import { interleave } from "./interleave.js";
import { linearize } from "./linearize.js";
import { lowerTensors } from "./lower-tensors.js";
import { mapGrid } from "./map-grid.js";
import { mapRows } from "./map-rows.js";
import { mergeDims } from "./merge-dims.js";
import { pairProducts } from "./pair-products.js";
import { raiseProducts } from "./raise-products.js";
import { rematerialize } from "./rematerialize.js";
import { overlapExchanges } from "./overlap-exchanges.js";
import { overlapMessages } from "./overlap-messages.js";
import { rotatePeers } from "./rotate-peers.js";
import { asking, type Pass, reading } from "./runner.js";
import { sendMessages } from "./send-messages.js";
import { simplify } from "./simplify.js";
import { storedWhereLoaded } from "./support/stored-where-loaded.js";
import { stageTransfers } from "./stage-transfers.js";
import { dropUnusedBuffers } from "./support/unused.js";
import { tileContractions } from "./tile-contractions.js";
import { unroll } from "./unroll.js";
import { unswitch } from "./unswitch.js";
import { vectorize } from "./vectorize.js";

export const PIPELINE: readonly Pass[] = [
  { name: "simplify-tensors", from: "tensor", to: "tensor", run: simplify },
  { name: "merge-dims", from: "tensor", to: "tensor", run: mergeDims },
  {
    name: "choose-algorithms",
    from: "tensor",
    to: "tensor",
    ...reading(["algorithm", "ranksPerDomain", "protocol"], chooseAlgorithms),
  },
  { name: "lower-tensors", from: "tensor", to: "rank", run: lowerTensors, ensures: storedWhereLoaded },
  { name: "simplify-elements", from: "rank", to: "rank", run: simplify },
  { name: "raise-products", from: "rank", to: "rank", run: raiseProducts },
  { name: "send-messages", from: "rank", to: "rank", ...reading(["ranksPerDomain"], sendMessages) },
  {
    name: "stage-transfers",
    from: "rank",
    to: "rank",
    ...reading(["transfers", "protocol"], stageTransfers),
  },
  { name: "forward-scratch", from: "rank", to: "rank", ...reading(["protocol"], forwardScratch) },
  { name: "pair-products", from: "rank", to: "rank", ...asking(["roles"], pairProducts) },
  { name: "infer-symmetric", from: "rank", to: "rank", run: inferSymmetric },
  { name: "fuse-rows", from: "rank", to: "rank", run: fuseRows },
  { name: "engine-copies", from: "rank", to: "rank", ...reading(["copies"], engineCopies) },
  { name: "overlap-messages", from: "rank", to: "rank", run: overlapMessages },
  { name: "derive-sync", from: "rank", to: "rank", run: deriveSync },
  { name: "expand-messages", from: "rank", to: "rank", run: expandMessages },
  {
    name: "tile-contractions",
    from: "rank",
    to: "rank",
    ...reading(["tile", "tileThreads", "tileBlocks", "roles", "shares"], tileContractions),
  },
  {
    name: "map-rows",
    from: "rank",
    to: "rank",
    ...reading(
      ["elementThreads", "rowThreads", "rowBlocks", "busyBlocks", "accessBytes", "loadsInFlight", "rowLoadsInFlight"],
      mapRows,
    ),
  },
  {
    name: "overlap-exchanges",
    from: "rank",
    to: "rank",
    ...reading(["slabRows", "elementThreads", "elementBlocks", "loadBlocks", "accessBytes"], overlapExchanges),
  },
  {
    name: "map-grid",
    from: "rank",
    to: "device",
    ...reading(["elementThreads", "elementBlocks", "loadBlocks", "busyBlocks", "accessBytes", "earlyLaunch"], mapGrid),
  },
  { name: "rotate-peers", from: "device", to: "device", run: rotatePeers },
  { name: "linearize", from: "device", to: "device", run: linearize },
  { name: "unroll", from: "device", to: "device", run: unroll },
  { name: "simplify", from: "device", to: "device", run: simplify },
  { name: "forward-elements", from: "device", to: "device", run: forwardElements },
  { name: "vectorize", from: "device", to: "device", ...reading(["accessBytes"], vectorize) },
  { name: "simplify-vectors", from: "device", to: "device", run: simplify },
  { name: "unswitch", from: "device", to: "device", run: unswitch },
  {
    name: "interleave",
    from: "device",
    to: "device",
    ...reading(["loadsInFlight", "accessBytes"], interleave),
  },
  { name: "expand-barriers", from: "device", to: "device", run: expandBarriers },
  { name: "simplify-last", from: "device", to: "device", run: (kernel) => dropUnusedBuffers(simplify(kernel)) },
  { name: "rematerialize", from: "device", to: "device", run: rematerialize },
];
