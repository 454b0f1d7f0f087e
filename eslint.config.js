import tseslint from "typescript-eslint";
import importX from "eslint-plugin-import-x";
import { createTypeScriptImportResolver } from "eslint-import-resolver-typescript";

/** Who may import whom. `from` may not be imported by `target`. */
const zone = (target, from, message, except = []) => ({ target, from, message, except });

const LAYERS = [
  zone("./src/compiler", "./src/runtime", "the compiler never imports the runtime"),
  zone("./src/compiler", "./src/cli", "the compiler never imports the command line"),
  zone("./src/runtime", "./src/cli", "the runtime never imports the command line"),
  zone("./src/runtime", "./src/compiler", "the runtime imports the compiler through its one door", [
    "./index.ts",
    "./graph/index.ts",
  ]),
  zone("./src/cli", "./src/compiler", "the command line imports the compiler through its one door", [
    "./index.ts",
    "./graph/index.ts",
  ]),
  zone("./src/formatter", "./src/compiler", "the formatter imports the compiler through its one door", ["./index.ts"]),
  zone("./src/formatter", "./src/runtime", "the formatter needs no runtime"),
  zone("./src/formatter", "./src/cli", "the formatter knows no command"),
  zone("./src/formatter", "./src/lsp", "the language server uses the formatter, not the other way round"),
  zone("./src/lsp", "./src/compiler", "the language server imports the compiler through its one door", ["./index.ts"]),
  zone("./src/lsp", "./src/runtime", "the language server needs no runtime"),
  zone("./src/lsp", "./src/cli", "the language server knows no command"),
  zone("./src/compiler", "./src/formatter", "the compiler stands alone"),
  zone("./src/compiler", "./src/lsp", "the compiler stands alone"),
  zone("./src/compiler/prove", "./src/compiler/passes", "the prover looks at what ships, not at how it was made", [
    "./options.ts",
  ]),
  zone("./src/compiler/execute", "./src/compiler/prove", "the executor knows none of those who use it"),
  zone("./src/compiler/execute", "./src/compiler/emit", "the executor and the printer are held against each other"),
  zone("./src/compiler/emit", "./src/compiler/execute", "the printer and the executor are held against each other"),
  zone("./src/compiler/execute", "./src/compiler/passes", "the executor imports only the IR"),
  zone("./grammar", "./src", "the grammar stands alone"),
  zone("./src/compiler/ir", "./src/compiler/passes", "the IR knows no pass"),
  zone("./src/compiler/ir", "./src/compiler/emit", "the IR knows no printer"),
  zone("./src/compiler/ir", "./src/compiler/lower", "the IR knows no lowering"),
  zone("./src/compiler/passes", "./src/compiler/ast", "passes import only the IR"),
  zone("./src/compiler/passes", "./src/compiler/check", "passes import only the IR"),
  zone("./src/compiler/passes", "./src/compiler/emit", "passes import only the IR"),
  zone("./src/compiler/passes", "./src/compiler/lower", "passes import only the IR"),
  zone("./src/compiler/emit", "./src/compiler/passes", "the printer imports only the IR"),
  zone("./src/compiler/emit", "./src/compiler/lower", "the printer imports only the IR"),
  zone("./src/compiler/emit", "./src/compiler/check", "the printer imports only the IR"),
  zone("./src/compiler/check", "./src/compiler/ir", "checking knows the syntax, not the IR"),
];

export default tseslint.config(
  { ignores: ["dist", "build", "node_modules", ".bundle", ".out", "coverage"] },
  ...tseslint.configs.recommended,
  {
    plugins: { "import-x": importX },
    settings: { "import-x/resolver-next": [createTypeScriptImportResolver()] },
    rules: {
      "import-x/no-restricted-paths": ["error", { basePath: import.meta.dirname, zones: LAYERS }],
      "import-x/no-cycle": ["off"],
      "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      eqeqeq: ["error", "always", { null: "ignore" }],
      "max-lines": ["warn", { max: 450, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    // The compiler is pure: no file system, no process, no clock.
    files: ["src/compiler/**/*.ts", "grammar/parser.ts", "grammar/expression-parser.ts", "grammar/tokens.ts"],
    rules: {
      "no-restricted-imports": ["error", { patterns: ["node:*", "fs", "path", "child_process", "os"] }],
      "no-restricted-globals": ["error", "process", "Buffer", "setTimeout"],
    },
  },
  {
    // One pass is one file; passes never import each other.
    files: ["src/compiler/passes/*.ts"],
    ignores: ["src/compiler/passes/pipeline.ts", "src/compiler/passes/runner.ts"],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            { regex: "^\\./(?!options|support/|runner)", message: "passes import only the IR, never each other" },
          ],
        },
      ],
    },
  },
);
