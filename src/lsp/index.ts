/** The language server's door. */
export { serve } from "./server.js";
