/** What others need of diagnostics. */
export { CODES, type DiagnosticCode } from "./codes.js";
export { byPlace, diagnostic, type Diagnostic, type Label, type ParametersOf, type Severity } from "./create.js";
export { InternalCompilerError } from "./ice.js";
export { NO_COLOUR, type Palette, type Printable, printDiagnostic, printDiagnostics } from "./render.js";
export { nearest, suggestion } from "./suggest.js";
export { type JsonDiagnostic, toJson } from "./to-json.js";
