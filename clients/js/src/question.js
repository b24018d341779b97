// What goes to a respondent's device: wire version 1. The rules and their order are those of docs/reference/wire.md.

import { WORD_RANGE, hex, loss, sha256 } from "./channel.js";

export const WIRE = 1;
export const MAX_LEVELS = 2 ** 20;
export const SLACK = 1 + 1e-12; // two implementations of the logarithm may differ in the last places
const LONGEST = 200;
const IDENTIFIER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]/u; // shows nothing, or reorders what is shown
// What is left of Unicode's default ignorables: letters and marks without a picture of their own.
const INVISIBLE =
  /[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/gu;
const QUESTION_MEMBERS = ["wire", "campaign", "question", "attribute", "levels", "channel", "epsilon"];
const CHANNEL_MEMBERS = ["kind", "keep", "fake"];

/** The device will not answer. `reason` is a word for programs, the same in every client. */
export class Refused extends Error {
  constructor(reason, field, rule) {
    super(`${field}: ${rule}`);
    this.name = "Refused";
    this.reason = reason;
    this.field = field;
  }
}

/**
 * Check a question as it came from the network, and keep a frozen copy of it.
 *
 * @param {unknown} data a parsed question, or its JSON text
 * @returns {Readonly<object>} campaign, question, attribute, levels, keep, fake, epsilon, loss, total
 * @throws {Refused}
 */
export function verify(data) {
  const members = object(typeof data === "string" ? parse(data) : data, "question", QUESTION_MEMBERS, true);
  const { campaign, question, attribute, levels, channel, epsilon } = members;
  refuseUnless(Array.isArray(levels), "levels-count", "levels", "must be a list");
  // The kind comes before the members: an unknown kind has members of its own.
  const known = isObject(channel) && Object.hasOwn(channel, "kind") && channel.kind === "rr";
  refuseUnless(known, "channel-kind", "channel.kind", "must be an object of the kind 'rr'");
  const { keep, fake } = object(channel, "channel", CHANNEL_MEMBERS);
  refuseUnless(Array.isArray(fake), "fake-count", "channel.fake", "must be a list");
  checkIdentifier(campaign, "campaign");
  checkIdentifier(question, "question");
  checkText(attribute, "attribute");
  checkLevels(levels);
  const total = checkWeights(keep, fake, levels.length);
  const computed = checkPromise(epsilon, keep, fake);
  const copy = { levels: Object.freeze([...levels]), fake: Object.freeze([...fake]) };
  return Object.freeze({ campaign, question, attribute, ...copy, keep, epsilon, loss: computed, total });
}

/** SHA-256 over all content of a verified question, equal in every client. */
export async function digest(question) {
  const promise = new DataView(new ArrayBuffer(8));
  promise.setFloat64(0, question.epsilon);
  const { campaign, question: name, attribute, levels, keep, fake } = question;
  const parts = [WIRE, campaign, name, attribute, levels, "rr", keep, fake, hex(new Uint8Array(promise.buffer))];
  return sha256(JSON.stringify(parts));
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refused("not-json", "question", "must be well-formed JSON");
  }
}

function refuseUnless(holds, reason, field, rule) {
  if (!holds) throw new Refused(reason, field, rule);
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function object(data, field, wanted, versioned = false) {
  refuseUnless(isObject(data), "not-an-object", field, "must be an object");
  // The version comes first: members of a later version are not wrong, only not ours to read.
  const version = !versioned || (Object.hasOwn(data, "wire") && data.wire === WIRE);
  refuseUnless(version, "wire-version", "wire", `must be ${WIRE}; update the client`);
  const missing = wanted.find((name) => !Object.hasOwn(data, name));
  refuseUnless(missing === undefined, "missing-member", field, `must have the member '${missing}'`);
  const unknown = Object.keys(data).find((name) => !wanted.includes(name));
  refuseUnless(unknown === undefined, "unknown-member", field, `may have no member '${unknown}'`);
  return data;
}

function checkIdentifier(value, field) {
  const good = typeof value === "string" && IDENTIFIER.test(value);
  refuseUnless(good, "identifier", field, "must be 1 to 64 letters, digits, dots, dashes or underscores");
}

function checkText(value, field) {
  const good = typeof value === "string" && [...value].length <= LONGEST && !HIDDEN.test(value) && seen(value) !== "";
  refuseUnless(good, "text", field, `must be 1 to ${LONGEST} characters that a screen shows as they are`);
}

/** What a person sees: compatible forms as one, without what has no picture; case counts. */
function seen(text) {
  const shown = text.replace(INVISIBLE, "").normalize("NFKC");
  return shown.replace(/ +/g, " ").replace(/^ | $/g, "");
}

function checkLevels(levels) {
  const count = levels.length;
  refuseUnless(count >= 2 && count <= MAX_LEVELS, "levels-count", "levels", "must be 2 to 2**20 levels");
  for (let i = 0; i < count; i++) checkText(levels[i], `levels[${i}]`);
  const distinct = new Set(levels.map(seen)); // two levels that a person cannot tell apart are one
  refuseUnless(distinct.size === count, "levels-repeated", "levels", "must all be different");
}

function isInteger(value) {
  return Number.isSafeInteger(value) && value >= 0;
}

function checkWeights(keep, fake, levels) {
  const range = "must be an integer up to 2**53 - 1";
  refuseUnless(isInteger(keep), "weight", "channel.keep", range);
  refuseUnless(fake.length === levels, "fake-count", "channel.fake", "must hold one weight for each level");
  for (let i = 0; i < levels; i++) {
    refuseUnless(isInteger(fake[i]), "weight", `channel.fake[${i}]`, range);
    const rule = "must be at least 1: a level that is never faked confesses the truth";
    refuseUnless(fake[i] > 0, "fake-zero", `channel.fake[${i}]`, rule);
  }
  let total = keep;
  for (const weight of fake) {
    // Compared before it is added: 2**53 + 1 is not a double, and would pass as 2**53.
    refuseUnless(weight <= WORD_RANGE - total, "total", "channel", "must sum to at most 2**53");
    total += weight;
  }
  return total;
}

function checkPromise(epsilon, keep, fake) {
  const good = typeof epsilon === "number" && epsilon > 0 && epsilon < WORD_RANGE;
  refuseUnless(good, "promise", "epsilon", "must be a positive number below 2**53");
  const computed = loss(keep, fake);
  const rule = `the weights lose ${computed}, which must not exceed the promise ${epsilon}`;
  refuseUnless(computed <= epsilon * SLACK, "loss-over-promise", "epsilon", rule);
  return computed;
}
