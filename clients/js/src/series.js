// A series: the same survey in several waves, with one promise for each person over all of them. A device answers in
// those waves only that it has drawn by lot when it first met the series.

import { WORD_RANGE, Words } from "./draw.js";
import { Refused, isInteger, isObject, refuseUnless } from "./refused.js";

const MAX_WAVES = 1000;
const MEMBERS = ["id", "wave", "waves", "turns", "epsilon"];
const IDENTIFIER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** The series of a question, checked; null where its campaign stands alone. */
export function readSeries(members) {
  if (!Object.hasOwn(members, "series")) return null;
  refuseUnless(isSeries(members.series), "series", "series", `must be a wave and turns of 2 to ${MAX_WAVES} waves`);
  return Object.freeze({ ...members.series });
}

function isSeries(data) {
  if (!isObject(data) || Object.keys(data).length !== MEMBERS.length) return false;
  if (!MEMBERS.every((name) => Object.hasOwn(data, name))) return false;
  const { id, wave, waves, turns, epsilon } = data;
  const named = typeof id === "string" && IDENTIFIER.test(id);
  const counted = [wave, waves, turns].every(isInteger) && waves >= 2 && waves <= MAX_WAVES;
  const placed = counted && [wave, turns].every((number) => number >= 1 && number <= waves);
  return named && placed && typeof epsilon === "number" && epsilon > 0 && epsilon < WORD_RANGE;
}

/** What enters a digest, given the bytes of the promise. */
export const seriesParts = ({ id, wave, waves, turns }, promise) => [id, wave, waves, turns, promise];

/** Whether two name the same series and wave on the same terms. */
export function sameSeries(one, other) {
  return one === other || (one !== null && other !== null && MEMBERS.every((name) => one[name] === other[name]));
}

/**
 * Draw which waves a device answers in: all sets of so many are equally likely.
 *
 * @returns {{drawn: number[], words: number}} the waves, ascending, and how many words were used
 */
export function drawTurns(waves, turns, next) {
  const words = new Words(next);
  const drawn = [];
  for (let wave = 1; wave <= waves; wave++) {
    if (words.below(waves - wave + 1) < turns - drawn.length) drawn.push(wave);
  }
  return { drawn, words: words.used };
}

/** The lot of a device for a series. */
export function drawLot({ id, waves, turns, epsilon }, service, next) {
  return { service, id, waves, turns, epsilon, drawn: drawTurns(waves, turns, next).drawn };
}

/** Refuse a series whose terms have changed. */
export function checkTerms(lot, { waves, turns, epsilon }) {
  const same = !lot || (lot.waves === waves && lot.turns === turns && lot.epsilon === epsilon);
  const rule = "must have as many waves and turns as before, and the same promise";
  refuseUnless(same, "series-changed", "series", rule);
}

/** Refuse a wave in which this device does not answer; `next` of the refusal is its next turn, if it has one left. */
export function checkTurn({ drawn, turns, waves }, { wave }) {
  if (drawn.includes(wave)) return;
  const rule = `must be one of the ${turns} of ${waves} waves that this device has drawn by lot`;
  const refused = new Refused("not-your-turn", "series.wave", rule);
  refused.next = drawn.find((other) => other > wave) ?? null;
  throw refused;
}

/** Whether it is a lot as a ledger keeps it. */
export function isLot(lot) {
  if (!isObject(lot) || typeof lot.service !== "string" || !Array.isArray(lot.drawn)) return false;
  const { service: _, drawn, ...terms } = lot;
  const ordered = drawn.every((wave, i) => isInteger(wave) && wave > (drawn[i - 1] ?? 0) && wave <= lot.waves);
  return isSeries({ ...terms, wave: 1 }) && ordered && drawn.length === lot.turns;
}
