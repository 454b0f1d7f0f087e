/**
 * Whether values are as a JSON Schema says. Ajv, which knows that, is ninety small files: they are loaded, and a schema is compiled, when the
 * first value is asked about, for few commands read JSON.
 */
import { createRequire } from "node:module";
import type { ErrorObject, Options, ValidateFunction } from "ajv";
import type * as Ajv from "ajv/dist/2020.js";

export type { ErrorObject } from "ajv";
type Schema = Readonly<Record<string, unknown>>;

const require = createRequire(import.meta.url);

/** @returns of a value what is wrong with it by a schema of 2020-12: nothing where it is as the schema says */
export function checkOf(schema: () => Schema, options: Options = {}): (value: unknown) => readonly ErrorObject[] {
  let validate: ValidateFunction | null = null;
  return (value) => {
    if (validate === null) {
      const { Ajv2020 } = require("ajv/dist/2020.js") as typeof Ajv;
      validate = new Ajv2020({ strict: false, ...options }).compile(schema());
    }
    return validate(value) ? [] : (validate.errors ?? []);
  };
}
