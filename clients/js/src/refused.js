// How the device says no, and the checks that all parts of a question share.

/** The device will not answer. `reason` is a word for programs, the same in every client. */
export class Refused extends Error {
  constructor(reason, field, rule) {
    super(`${field}: ${rule}`);
    this.name = "Refused";
    this.reason = reason;
    this.field = field;
  }
}

export function refuseUnless(holds, reason, field, rule) {
  if (!holds) throw new Refused(reason, field, rule);
}

/** Whether it is an integer as the wire has them, 0 to 2**53 - 1. */
export function isInteger(value) {
  return Number.isSafeInteger(value) && value >= 0;
}

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object, after checking that it has these members of its own, and no others but the optional ones. */
export function membersOf(data, field, wanted, optional = []) {
  refuseUnless(isObject(data), "not-an-object", field, "must be an object");
  const missing = wanted.find((name) => !Object.hasOwn(data, name));
  refuseUnless(missing === undefined, "missing-member", field, `must have the member '${missing}'`);
  const unknown = Object.keys(data).find((name) => !wanted.includes(name) && !optional.includes(name));
  refuseUnless(unknown === undefined, "unknown-member", field, `may have no member '${unknown}'`);
  return data;
}
