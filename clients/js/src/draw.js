// Exact coins and dice from 64-bit words. Everything stays at or below 2**53, so that doubles hold every integer exactly.

export const WORD_RANGE = 2 ** 53;

/** Counts the words that a draw takes. `nextWord` gives the low and the high half of a uniform 64-bit word. */
export class Words {
  #next;
  used = 0;

  constructor(nextWord) {
    this.#next = nextWord;
  }

  halves() {
    this.used += 1;
    return this.#next();
  }

  /** The 53 high bits of a word. */
  top() {
    const [low, high] = this.halves();
    return high * 2 ** 21 + (low >>> 11);
  }

  /** A uniform integer from 0 to total - 1, exactly, for a total of at most 2**53. */
  below(total) {
    const bound = WORD_RANGE - (WORD_RANGE % total); // beyond it the remainders would not be uniform
    let word;
    do word = this.top();
    while (word >= bound);
    return word % total;
  }

  /** 1 with probability threshold / 2**bits, exactly, else 0; one word. */
  coin(threshold, bits) {
    return Number(Math.floor(this.top() / 2 ** (53 - bits)) < threshold);
  }
}

export function cumulative(weights) {
  let sum = 0;
  return weights.map((weight) => (sum += weight));
}

/** The first place whose cumulative sum exceeds `target`, in a number of steps that depends on the length only. */
export function search(sums, target) {
  let start = 0;
  let size = sums.length;
  while (size > 1) {
    const half = size >>> 1;
    start += half * Number(sums[start + half - 1] <= target);
    size -= half;
  }
  return start;
}
