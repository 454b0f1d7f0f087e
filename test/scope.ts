/**
 * How much the tests do. `npm run test:all`, which CI runs, does all; `npm test` leaves out what takes minutes and differs from
 * the rest in numbers alone: more ranks, more architectures, more backends on fakes and their faults, more mutants, more random programs.
 */
export const isAll = process.env["COLLC_TESTS"] === "all";
