// What goes to a respondent's device: wire version 1. The rules and their order are those of docs/reference/wire.md.

import { isKey } from "./blind.js";
import { MAX_CELLS, readChannel } from "./channels.js";
import { WORD_RANGE } from "./draw.js";
import { Refused, isObject, membersOf, refuseUnless } from "./refused.js";
import { readSeries, seriesParts } from "./series.js";
import { hex, sha256 } from "./system.js";
import { allDiffer, checkText } from "./text.js";

export const WIRE = 1;
export const MAX_ASKS = 16;
export const SLACK = 1 + 1e-12; // two implementations of the logarithm may differ in the last places
const IDENTIFIER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const ORIGIN = /^https?:\/\/(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?$/;
const MAX_AGGREGATORS = 64;
const QUESTION_MEMBERS = ["wire", "campaign", "question", "asks", "channel", "epsilon"];

/**
 * Check a question as it came from the network, and keep a frozen copy of it.
 *
 * @param {unknown} data a parsed question, or its JSON text
 * @returns {Readonly<object>} campaign, question, asks, channel, epsilon, aggregators (null where the one that asks
 *   takes the report), key (null in an open campaign), series (null where the campaign stands alone), and from them
 *   cells and loss
 * @throws {Refused}
 */
export function verify(data) {
  const { campaign, question, epsilon, ...rest } = questionMembers(typeof data === "string" ? parse(data) : data);
  const listed = Array.isArray(rest.asks) ? [...rest.asks] : [];
  const counted = listed.length >= 1 && listed.length <= MAX_ASKS;
  refuseUnless(counted, "asks-count", "asks", `must be a list of 1 to ${MAX_ASKS}`);
  const asks = Object.freeze(listed.map(readAsk));
  const channel = readChannel(rest.channel);
  checkIdentifier(campaign, "campaign");
  checkIdentifier(question, "question");
  const aggregators = readAggregators(rest);
  const key = Object.hasOwn(rest, "key") ? rest.key : null;
  const good = !Object.hasOwn(rest, "key") || isKey(key);
  refuseUnless(good, "key", "key", "must be an odd modulus of 2048 bits in hexadecimal digits");
  const series = readSeries(rest);
  asks.forEach(checkAsk);
  const names = asks.map((ask) => ask.attribute);
  refuseUnless(allDiffer(names), "attribute-repeated", "asks", "must ask for each attribute once");
  const cells = asks.reduce((product, { levels }) => product * levels.length, 1);
  refuseUnless(cells <= MAX_CELLS, "cells-count", "asks", "must have at most 2**20 combinations of levels");
  channel.check(cells);
  const loss = checkPromise(epsilon, channel, cells);
  return Object.freeze({ campaign, question, asks, channel, epsilon, aggregators, key, series, cells, loss });
}

/** SHA-256 over all content of a verified question, equal in every client. */
export async function digest(verified) {
  const { campaign, question, aggregators, key } = verified;
  const series = verified.series && seriesParts(verified.series, bytesOf(verified.series.epsilon));
  const optional = Object.entries({ aggregators, key, series }).filter(([, value]) => value !== null);
  return sha256(JSON.stringify([WIRE, campaign, question, ...asked(verified), ...optional]));
}

/** SHA-256 over what is asked, through which channel, at which promise: the same in every wave of a series. */
export async function content(verified) {
  return sha256(JSON.stringify(asked(verified)));
}

function asked({ asks, channel, epsilon }) {
  return [asks.map(({ attribute, levels }) => [attribute, levels]), channel.parts(), bytesOf(epsilon)];
}

function bytesOf(number) {
  const bytes = new DataView(new ArrayBuffer(8));
  bytes.setFloat64(0, number);
  return hex(new Uint8Array(bytes.buffer));
}

/** What respondents of one survey can compare: 32 hexadecimal digits over its title and all its questions. */
export async function fingerprint(title, digests) {
  return (await sha256(JSON.stringify([title, ...digests]))).slice(0, 32);
}

/**
 * The cell of a true value of a verified question; null where the respondent has no such value.
 *
 * @param {object} question what `verify` returned
 * @param {unknown} value an object from attribute to level, which may hold other attributes too; or the level itself
 *   where one attribute is asked. null, for a level or for all of it, says that there is none.
 */
export function cellOf({ asks }, value) {
  const none = ({ attribute }) => isObject(value) && Object.hasOwn(value, attribute) && value[attribute] === null;
  if (value === null || asks.some(none)) return null;
  const held = typeof value === "string" && asks.length === 1 ? { [asks[0].attribute]: value } : value;
  return asks.reduce((cell, { attribute, levels, places }) => {
    const known = isObject(held) && Object.hasOwn(held, attribute) && typeof held[attribute] === "string";
    const index = (known ? places.get(held[attribute]) : undefined) ?? -1;
    // The message must not carry the value: it is the respondent's own.
    refuseUnless(index >= 0, "value", "value", "must be one of the levels of each attribute that is asked");
    return cell * levels.length + index;
  }, 0);
}

/** The level of each attribute in a cell. */
export function levelsOf({ asks }, cell) {
  const levels = [];
  for (const ask of [...asks].reverse()) {
    levels.unshift(ask.levels[cell % ask.levels.length]);
    cell = Math.floor(cell / ask.levels.length);
  }
  return levels;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refused("not-json", "question", "must be well-formed JSON");
  }
}

function questionMembers(data) {
  refuseUnless(isObject(data), "not-an-object", "question", "must be an object");
  // The version comes first: members of a later version are not wrong, only not ours to read.
  const version = Object.hasOwn(data, "wire") && data.wire === WIRE;
  refuseUnless(version, "wire-version", "wire", `must be ${WIRE}; update the client`);
  return membersOf(data, "question", QUESTION_MEMBERS, ["aggregators", "key", "series"]);
}

function readAggregators(members) {
  if (!Object.hasOwn(members, "aggregators")) return null;
  const listed = Array.isArray(members.aggregators) ? [...members.aggregators] : [];
  const counted = listed.length >= 2 && listed.length <= MAX_AGGREGATORS;
  const good = counted && listed.every(isOrigin) && new Set(listed).size === listed.length;
  refuseUnless(good, "aggregators", "aggregators", `must be 2 to ${MAX_AGGREGATORS} different origins`);
  return Object.freeze(listed);
}

/** Whether it is the address of a service: scheme, host and port, in lower case, without a path. */
export function isOrigin(value) {
  return typeof value === "string" && ORIGIN.test(value);
}

/** The place of the aggregator that a report belongs to, by its id. */
export function shardOf(report, aggregators) {
  return Number(BigInt(`0x${report}`) % BigInt(aggregators));
}

function readAsk(data, index) {
  const { attribute, levels } = membersOf(data, `asks[${index}]`, ["attribute", "levels"]);
  refuseUnless(Array.isArray(levels), "levels-count", `asks[${index}].levels`, "must be a list");
  const listed = Object.freeze([...levels]);
  // Levels are looked up, not searched: the time must not depend on the place.
  return Object.freeze({ attribute, levels: listed, places: new Map(listed.map((level, place) => [level, place])) });
}

function checkAsk({ attribute, levels }, index) {
  const field = `asks[${index}]`;
  checkText(attribute, `${field}.attribute`);
  const counted = levels.length >= 2 && levels.length <= MAX_CELLS;
  refuseUnless(counted, "levels-count", `${field}.levels`, "must be 2 to 2**20 levels");
  levels.forEach((level, i) => checkText(level, `${field}.levels[${i}]`));
  // Two levels that a person cannot tell apart are one.
  refuseUnless(allDiffer(levels), "levels-repeated", `${field}.levels`, "must all be different");
}

function checkIdentifier(value, field) {
  const good = typeof value === "string" && IDENTIFIER.test(value);
  refuseUnless(good, "identifier", field, "must be 1 to 64 letters, digits, dots, dashes or underscores");
}

function checkPromise(epsilon, channel, cells) {
  const good = typeof epsilon === "number" && epsilon > 0 && epsilon < WORD_RANGE;
  refuseUnless(good, "promise", "epsilon", "must be a positive number below 2**53");
  const computed = channel.loss(cells);
  const rule = `the channel loses ${computed}, which must not exceed the promise ${epsilon}`;
  refuseUnless(computed <= epsilon * SLACK, "loss-over-promise", "epsilon", rule);
  return computed;
}
