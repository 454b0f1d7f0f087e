/** What others need of diagnostics. */
export { CODES, type DiagnosticCode } from "./codes.js";
export { diagnostic, type Diagnostic, type Label, type Severity } from "./create.js";
export { InternalCompilerError } from "./ice.js";
export { NO_COLOUR, type Palette, printDiagnostic, printDiagnostics } from "./render.js";
export { type JsonDiagnostic, toJson } from "./to-json.js";
