// What a verified question would send, what was sent, and with which chances: numbers of the question put into words.

import { levelsOf } from "./client/question.js";

const MOST_SHOWN = 8; // answers of a set that are named one by one

const scale = ({ bits }) => 2 ** bits;

// What else than `kept` the words of a channel say.
const NUMBERS = {
  rr: () => ({}),
  unary: ({ channel }) => ({ other: channel.off / scale(channel) }),
  hash: ({ channel }) => ({ groups: channel.cells }),
  hadamard: () => ({}),
  subset: ({ channel, cells }) => ({ size: channel.size, other: channel.size / cells }),
  matrix: ({ channel, cells }) => ({ reports: channel.reports(cells), other: 1 - channel.kept(cells) }),
};

export function namesOf({ asks }, words) {
  return words.all(asks.map(({ attribute }) => attribute));
}

/** What would leave the device, and with which probability it is true. */
export function said(question, words) {
  const { channel, cells } = question;
  const numbers = { cells, kept: words.chance(channel.kept(cells)), ...NUMBERS[channel.words](question) };
  return words.say(`said.${channel.words}`, { names: namesOf(question, words), ...numbers });
}

/** How many of a hundred balls stand for the truth, and what they say. */
export function bowl(question, words) {
  const share = 100 * question.channel.kept(question.cells);
  const own = Math.round(share);
  const said = own === 0 && share > 0 ? "< 1" : own === 100 && share < 100 ? "> 99" : String(own);
  const kind = question.channel.words;
  const key = kind === "hash" || kind === "hadamard" ? "group" : kind;
  return { own, text: words.say(`toss.${key}`, { names: namesOf(question, words), own: said }) };
}

/** What a report says, for a person. */
export function sent(question, answer, words) {
  const names = namesOf(question, words);
  const { channel, cells } = question;
  const kind = channel.words;
  if (kind === "rr") return words.say("sent.level", { names, levels: levelsOf(question, answer).join(", ") });
  if (kind === "unary" || kind === "subset") return sentSet(question, setOf(answer, cells), names, words);
  if (kind === "hash") {
    const [seed, group] = answer;
    return words.say("sent.hash", { names, seed: String(seed), group: String(group + 1), groups: channel.cells });
  }
  if (kind === "hadamard") {
    return words.say("sent.hadamard", { names, row: String(answer >>> 1), group: String((answer & 1) + 1) });
  }
  return words.say("sent.matrix", { names, number: String(answer + 1), reports: String(channel.reports(cells)) });
}

function sentSet(question, set, names, words) {
  if (set.length === 0) return words.say("sent.set.none", { names });
  if (set.length > MOST_SHOWN) {
    return words.say("sent.set.many", { names, count: String(set.length), cells: String(question.cells) });
  }
  const levels = set.map((cell) => levelsOf(question, cell).join(" + ")).join(", ");
  return words.say("sent.set", { names, levels });
}

/** The cells whose bits are set in packed hexadecimal digits. */
export function setOf(packed, cells) {
  const byte = (cell) => Number.parseInt(packed.slice(2 * (cell >>> 3), 2 * (cell >>> 3) + 2), 16);
  return Array.from({ length: cells }, (_, cell) => cell).filter((cell) => (byte(cell) >>> (cell & 7)) & 1);
}
