// The account of a device: what it has lost so far, and the reports it paid for with that. One item of a storage,
// replaced as a whole. What cannot be understood is never replaced: that would forget what was spent.

import { content } from "./question.js";
import { Refused, isInteger, refuseUnless } from "./refused.js";
import { isLot } from "./series.js";
import { sha256 } from "./system.js";

const FORMAT = 1;
const TEXTS = ["campaign", "question", "digest", "date"];

/** The entries in a storage, and the lots of series; none where there is no ledger yet. */
export async function load(storage, key) {
  const text = await reach(() => storage.getItem(key));
  if (text === null || text === undefined) return { entries: [], lots: [] };
  try {
    const { ledger, check, entries, series: lots = [] } = JSON.parse(text);
    const listed = ledger === FORMAT && Array.isArray(entries) && Array.isArray(lots);
    const whole = listed && entries.every(wellFormed) && lots.every(isLot);
    if (whole && check === (await checkOf({ entries, lots }))) return { entries, lots };
  } catch {
    // falls through: what cannot be read is damaged
  }
  const rule = "must be a whole ledger of this device; it is not reset, because that would forget what was spent";
  throw new Refused("ledger-corrupt", "storage", rule);
}

const checkOf = ({ entries, lots }) => sha256(JSON.stringify(lots.length ? [entries, lots] : entries));

/** Write all of it, and see that it is there: what was not stored was not charged. */
export async function save(storage, key, book) {
  const { entries, lots } = book;
  const series = lots.length ? { series: lots } : {};
  const text = JSON.stringify({ ledger: FORMAT, check: await checkOf(book), entries, ...series });
  await reach(() => storage.setItem(key, text));
  const kept = (await reach(() => storage.getItem(key))) === text;
  refuseUnless(kept, "ledger-unavailable", "storage", "must keep what is written to it");
}

async function reach(work) {
  try {
    return await work();
  } catch {
    throw new Refused("ledger-unavailable", "storage", "must be readable and writable");
  }
}

// What one service asked is not known to another. An entry without a service, of an earlier version, counts for all.
const isOf = (entry, campaign, service) =>
  entry.campaign === campaign && (entry.service === undefined || entry.service === service);

/** What is known of a question, by its service and identifiers; refuses one whose content has changed. */
export function find(entries, { campaign, question }, service, mark) {
  const entry = entries.find((other) => isOf(other, campaign, service) && other.question === question);
  if (entry && entry.digest !== mark) {
    throw new Refused("question-changed", "question", "was asked before with other content, and may not change");
  }
  return entry;
}

/** Whether any question of the same campaign of this service is charged. */
export function hasAnswered(entries, { campaign }, service) {
  return entries.some((entry) => isOf(entry, campaign, service));
}

/** The charges in all waves of a series of this service, and the waves that were drawn for it. */
export function ofSeries({ entries, lots }, { id }, service) {
  const lot = lots.find((other) => other.id === id && other.service === service);
  return { lot, charges: entries.filter((entry) => entry.series === id && entry.service === service) };
}

/** The sum of all charges, answered or not. */
export function spent(entries) {
  return entries.reduce((sum, entry) => sum + entry.loss, 0);
}

/** A new entry, not drawn yet. */
export async function charged(verified, service, mark) {
  const { campaign, question, asks, channel, cells, series } = verified;
  const attributes = asks.map((ask) => ask.attribute);
  const date = new Date().toISOString().slice(0, 10);
  const loss = channel.lossUpper(cells);
  const entry = { service, campaign, question, attributes, digest: mark, loss, date, report: null, answer: null };
  return series ? { ...entry, series: series.id, wave: series.wave, content: await content(verified) } : entry;
}

function wellFormed(entry) {
  const texts = TEXTS.every((name) => typeof entry[name] === "string" && entry[name] !== "");
  const bought = entry.token === undefined || typeof entry.token === "string";
  const served = entry.service === undefined || typeof entry.service === "string";
  const alone = [entry.series, entry.wave, entry.content].every((member) => member === undefined);
  const named = typeof entry.series === "string" && typeof entry.content === "string" && isInteger(entry.wave);
  const asked = Array.isArray(entry.attributes) && entry.attributes.every((name) => typeof name === "string");
  const drawn = entry.report === null ? entry.answer === null : isAnswer(entry.answer);
  return texts && served && bought && (alone || named) && asked && drawn && Number.isFinite(entry.loss) && entry.loss >= 0;
}

function isAnswer(answer) {
  const pair = Array.isArray(answer) && answer.length === 2 && answer.every(isInteger);
  return pair || isInteger(answer) || (typeof answer === "string" && /^([0-9a-f]{2})+$/.test(answer));
}
