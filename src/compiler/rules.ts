/** What values of options may be, as data: a rule says what is wrong with a value, or null. */

/** Says what a value must be, in words that follow "must be"; null for one that is fine. */
export type Rule = (value: unknown) => string | null;

export const wholeNumber =
  (min: number, max: number): Rule =>
  (value) => {
    if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return null;
    return max === Number.MAX_SAFE_INTEGER
      ? `a whole number of at least ${min}`
      : `a whole number from ${min} to ${max}`;
  };

export const oneOf =
  (values: readonly (string | number | boolean)[]): Rule =>
  (value) =>
    values.includes(value as string) ? null : `one of ${values.join(", ")}`;

export const text: Rule = (value) => (typeof value === "string" ? null : "a text");

export const callable: Rule = (value) => (typeof value === "function" ? null : "a function");

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An object with just these properties, or some of them. */
export const record =
  (rules: Readonly<Record<string, Rule>>): Rule =>
  (value) => {
    if (!isRecord(value)) return `an object with ${Object.keys(rules).join(", ")}`;
    for (const [key, inner] of Object.entries(value)) {
      const rule = Object.hasOwn(rules, key) ? rules[key]! : null;
      if (rule === null) return `an object with ${Object.keys(rules).join(", ")}, without '${key}'`;
      const wrong = rule(inner);
      if (wrong !== null) return `an object whose ${key} is ${wrong}`;
    }
    const missing = Object.keys(rules).find((key) => !Object.hasOwn(value, key));
    return missing === undefined ? null : `an object with ${missing}, too`;
  };

/** An object of any properties that all obey one rule. */
export const recordOf =
  (rule: Rule): Rule =>
  (value) => {
    if (!isRecord(value)) return "an object";
    for (const [key, inner] of Object.entries(value)) {
      const wrong = rule(inner);
      if (wrong !== null) return `an object whose ${key} is ${wrong}`;
    }
    return null;
  };

export const listOf =
  (rule: Rule): Rule =>
  (value) => {
    if (!Array.isArray(value)) return "an array";
    const wrong = value.map((entry) => rule(entry)).find((w) => w !== null);
    return wrong === undefined ? null : `an array of ${wrong}`;
  };

export const either =
  (...rules: readonly Rule[]): Rule =>
  (value) => {
    const wrong = rules.map((rule) => rule(value));
    return wrong.includes(null) ? null : wrong.join(", or ");
  };

/** A value for a message, on one line and not long. */
export function shown(value: unknown): string {
  const written =
    typeof value === "string" ? JSON.stringify(value) : typeof value === "object" ? kindOf(value) : String(value);
  return written.length > 60 ? `${written.slice(0, 60)}…` : written;
}

function kindOf(value: object | null): string {
  return value === null ? "null" : Array.isArray(value) ? "an array" : "an object";
}
