// The arithmetic of randomized response in plain integers: its loss and its draw.
//
//   weight(y | x) = fake[y] + keep * [x == y]        total = keep + sum(fake) <= 2**53
//
// Everything stays at or below 2**53, so that doubles hold every integer exactly.

export const WORD_RANGE = 2 ** 53;

/** The exact local loss ln(1 + keep / min(fake)) of the weights, to the nearest double or so. */
export function loss(keep, fake) {
  return Math.log1p(keep / least(fake));
}

/** The same loss rounded outward: what a ledger books. */
export function lossUpper(keep, fake) {
  // A division and a logarithm, each off by less than one unit in the last place.
  return loss(keep, fake) * (1 + 4 * Number.EPSILON);
}

/** The largest factor by which an answer changes the odds between two true values. */
export function odds(keep, fake) {
  return 1 + keep / least(fake);
}

// Math.min(...fake) would overflow the stack with many levels.
function least(fake) {
  return fake.reduce((a, b) => Math.min(a, b));
}

/**
 * Draw what is sent for the true level `truth`.
 *
 * @param {number} keep weight of keeping the truth
 * @param {number[]} fake weight of each level as a fake answer
 * @param {number} truth index of the true level
 * @param {() => [number, number]} nextWord gives the low and the high half of a uniform 64-bit word
 * @returns {{answer: number, words: number}} the index that is sent, and how many words were used
 */
export function draw(keep, fake, truth, nextWord) {
  const sums = cumulative(fake);
  const total = keep + sums[sums.length - 1];
  const bound = WORD_RANGE - (WORD_RANGE % total); // beyond it the remainders would not be uniform
  let words = 0;
  let word;
  do {
    const [low, high] = nextWord();
    word = high * 2 ** 21 + (low >>> 11);
    words += 1;
  } while (word >= bound);
  const position = word % total;
  // The search runs whether or not the truth is kept, and the choice is a look-up: the time must not tell.
  const cell = search(sums, Math.max(position - keep, 0));
  return { answer: [cell, truth][Number(position < keep)], words };
}

function cumulative(fake) {
  let sum = 0;
  return fake.map((weight) => (sum += weight));
}

// The first cell whose cumulative sum exceeds `target`, in a number of steps that depends on the length only.
function search(sums, target) {
  let start = 0;
  let size = sums.length;
  while (size > 1) {
    const half = size >>> 1;
    start += half * Number(sums[start + half - 1] <= target);
    size -= half;
  }
  return start;
}

// Node 18 has no global `crypto`; browsers and later versions do.
const system = globalThis.crypto ?? (await import("node:crypto")).webcrypto;

/** A uniform 64-bit word of the system, as its low and high halves. */
export function systemWord() {
  const bytes = new DataView(systemBytes(8).buffer);
  return [bytes.getUint32(0, true), bytes.getUint32(4, true)];
}

/** Random bytes of the system. */
export function systemBytes(count) {
  return system.getRandomValues(new Uint8Array(count));
}

/** SHA-256 of a text, in hexadecimal digits. */
export async function sha256(text) {
  return hex(new Uint8Array(await system.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

/** Bytes as lower-case hexadecimal digits. */
export function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
