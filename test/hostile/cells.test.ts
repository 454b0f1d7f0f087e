/** Which accesses to an element count as unordered, where a strand reads it again after it has signalled. */
import { expect, it } from "vitest";
import { AccessLog, Cells } from "../../src/runtime/cpu/hostile/cells.js";
import { Clock, Strand } from "../../src/runtime/cpu/hostile/clock.js";

it("holds a write against the latest read of a strand, not against its first", () => {
  const log = new AccessLog();
  const cells = new Cells(1);
  const nothing = Clock.zero(2);
  const [reader, writer] = [new Strand(0, 0, 0, 0), new Strand(1, 1, 0, 0)];
  expect(cells.read(log, 0, log.row(reader, 0), reader, nothing)).toBeNull();
  const handedOn = nothing.withStrand(reader);
  reader.sequence++;
  const again = log.row(reader, 1);
  expect(cells.read(log, 0, again, reader, nothing)).toBeNull();
  // The writer knows of what came before the signal.
  const early = cells.write(log, 0, log.row(writer, 2), writer, handedOn);
  expect(early).toEqual({ earlier: again, earlierWrites: false });
  expect(cells.write(log, 0, log.row(writer, 2), writer, nothing.withStrand(reader))).toBeNull();
});
