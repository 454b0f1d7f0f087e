/**
 * The formatter's door, which is also the Prettier plugin `collc/prettier`:
 *
 *     prettier --plugin collc/prettier --write kernels/my.coll
 */
export { defaultOptions, languages, parsers, printers } from "./plugin.js";
export { formatColl, type FormatOptions, printWidthFor } from "./format.js";
export { CollSyntaxError } from "./syntax-error.js";
