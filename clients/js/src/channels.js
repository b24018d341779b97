// The channels that a device can draw from: the integers of the wire, their rules, their loss and their draw. The rules
// and their order are those of docs/reference/wire.md. `cells` is the number of possible answers, `truth` the true one.
// A draw does the same work whatever the coin says: the time must not tell.

import { WORD_RANGE, Words, cumulative, search } from "./draw.js";
import { isInteger, isObject, membersOf, refuseUnless } from "./refused.js";
import { hex } from "./system.js";

export const MAX_CELLS = 2 ** 20;

class Channel {
  constructor(members) {
    Object.assign(this, members);
    Object.freeze(this);
  }

  /** All integers, in the order that the digest takes them. */
  parts() {
    return [this.constructor.kind, ...this.constructor.members.map((name) => this[name])];
  }

  /** The kind whose words describe this one to a person. */
  get words() {
    return this.constructor.words ?? this.constructor.kind;
  }

  /** The exact local loss of the integers, to the nearest double or so. */
  loss(cells) {
    return Math.log1p(this.excess(cells));
  }

  /** The same loss rounded outward: what a ledger books. */
  lossUpper(cells) {
    // Two conversions, a division and a logarithm, each off by less than one unit in the last place.
    return this.loss(cells) * (1 + 4 * Number.EPSILON);
  }

  /** The largest factor by which a report changes the odds between two true values. */
  odds(cells) {
    return 1 + this.excess(cells);
  }

  /** What is sent for the true cell, and how many words it took. */
  draw(cells, truth, nextWord) {
    const words = new Words(nextWord);
    const answer = this.drawFrom(cells, truth, words);
    return { answer, words: words.used };
  }
}

export class RR extends Channel {
  static kind = "rr";
  static members = ["keep", "fake"];

  static read({ keep, fake }) {
    refuseUnless(Array.isArray(fake), "fake-count", "channel.fake", "must be a list");
    return new RR({ keep, fake: Object.freeze([...fake]) });
  }

  check(cells) {
    checkWeight(this.keep, "keep");
    refuseUnless(this.fake.length === cells, "fake-count", "channel.fake", "must hold one weight for each cell");
    for (let i = 0; i < cells; i++) checkFake(this.fake[i], `fake[${i}]`);
    refuseUnless(sumWithin([this.keep, ...this.fake]), "total", "channel", "must sum to at most 2**53");
  }

  excess() {
    return this.keep / least(this.fake);
  }

  kept() {
    return this.keep / this.fake.reduce((sum, weight) => sum + weight, this.keep);
  }

  drawFrom(cells, truth, words) {
    const sums = cumulative(this.fake);
    const position = words.below(this.keep + sums[cells - 1]);
    // The search runs whether or not the truth is kept, and the choice is a look-up.
    const cell = search(sums, Math.max(position - this.keep, 0));
    return [cell, truth][Number(position < this.keep)];
  }
}

export class Unary extends Channel {
  static kind = "unary";
  static members = ["on", "off", "bits"];

  static read(members) {
    return new Unary(pick(members, Unary.members));
  }

  check() {
    const scale = checkBits(this.bits);
    checkWeight(this.off, "off");
    const confesses = "must be at least 1: a bit that only the truth can set confesses it";
    refuseUnless(this.off > 0, "off-zero", "channel.off", confesses);
    checkWeight(this.on, "on");
    const between = this.off < this.on && this.on < scale;
    refuseUnless(between, "threshold", "channel.on", "must be above off and below 2**bits");
  }

  // on (T - off) / ((T - on) off) - 1 = T (on - off) / ((T - on) off)
  excess() {
    const scale = 2 ** this.bits;
    return quotient([scale, this.on - this.off], [scale - this.on, this.off]);
  }

  kept() {
    return this.on / 2 ** this.bits;
  }

  drawFrom(cells, truth, words) {
    const packed = new Uint8Array(Math.ceil(cells / 8));
    for (let cell = 0; cell < cells; cell++) {
      const threshold = [this.off, this.on][Number(cell === truth)];
      packed[cell >>> 3] |= words.coin(threshold, this.bits) << (cell & 7);
    }
    return hex(packed);
  }
}

/** Randomized response with equal fakes, of what a seed or a row makes of the truth. */
class Inner extends Channel {
  checkInner(choices) {
    checkWeight(this.keep, "keep");
    checkFake(this.fake, "fake");
    const total = BigInt(this.keep) + BigInt(choices) * BigInt(this.fake);
    refuseUnless(total <= BigInt(WORD_RANGE), "total", "channel", "must sum to at most 2**53");
  }

  send(choices, truth, words) {
    const position = words.below(this.keep + choices * this.fake);
    const fake = Math.floor(Math.max(position - this.keep, 0) / this.fake);
    return [fake, truth][Number(position < this.keep)];
  }

  excess() {
    return this.keep / this.fake;
  }
}

export class Hash extends Inner {
  static kind = "hash";
  static members = ["cells", "keep", "fake"];

  static read(members) {
    return new Hash(pick(members, Hash.members));
  }

  check() {
    const good = isInteger(this.cells) && this.cells >= 2 && this.cells <= MAX_CELLS;
    refuseUnless(good, "hash-cells", "channel.cells", "must be an integer from 2 to 2**20");
    this.checkInner(this.cells);
  }

  kept() {
    return this.keep / (this.keep + this.cells * this.fake);
  }

  drawFrom(cells, truth, words) {
    const [, seed] = words.halves();
    const cell = Math.floor((hash32(seed, truth) * this.cells) / 2 ** 32);
    return [seed, this.send(this.cells, cell, words)];
  }
}

export class Hadamard extends Inner {
  static kind = "hadamard";
  static members = ["keep", "fake"];

  static read(members) {
    return new Hadamard(pick(members, Hadamard.members));
  }

  check() {
    this.checkInner(2);
    refuseUnless(this.keep > 0, "threshold", "channel.keep", "must be at least 1");
  }

  kept() {
    return this.keep / (this.keep + 2 * this.fake);
  }

  drawFrom(cells, truth, words) {
    const row = words.below(hadamardRows(cells)); // a power of two: no word is passed over
    return 2 * row + this.send(2, parity(row & truth), words);
  }
}

export class Subset extends Channel {
  static kind = "subset";
  static members = ["size", "on", "bits"];

  static read(members) {
    return new Subset(pick(members, Subset.members));
  }

  check(cells) {
    const scale = checkBits(this.bits);
    const fits = isInteger(this.size) && this.size >= 1 && this.size < cells;
    refuseUnless(fits, "size", "channel.size", "must be an integer of at least 1 and below the number of cells");
    checkWeight(this.on, "on");
    const above = BigInt(this.size) * BigInt(scale) < BigInt(this.on) * BigInt(cells);
    const rule = "must be above 2**bits * size / cells and below 2**bits";
    refuseUnless(above && this.on < scale, "threshold", "channel.on", rule);
  }

  // on (k - w) / ((T - on) w) - 1 = (on k - T w) / ((T - on) w)
  excess(cells) {
    const scale = 2 ** this.bits;
    const above = BigInt(this.on) * BigInt(cells) - BigInt(scale) * BigInt(this.size);
    return quotient([above], [scale - this.on, this.size]);
  }

  kept() {
    return this.on / 2 ** this.bits;
  }

  // A shuffle's first w - 1 places are as uniform as its first w: a held truth takes the last place.
  drawFrom(cells, truth, words) {
    const held = words.coin(this.on, this.bits);
    const others = Array.from({ length: cells - 1 }, (_, i) => i + Number(i >= truth));
    for (let place = 0; place < this.size; place++) {
      const other = place + words.below(others.length - place);
      [others[place], others[other]] = [others[other], others[place]];
    }
    const last = this.size - 1;
    others[last] = [others[last], truth][held];
    const packed = new Uint8Array(Math.ceil(cells / 8));
    for (const cell of others.slice(0, this.size)) packed[cell >>> 3] |= 1 << (cell & 7);
    return hex(packed);
  }
}

export class Matrix extends Channel {
  static kind = "matrix";
  static members = ["weights"];

  static read({ weights }) {
    const rows = Array.isArray(weights) ? [...weights] : [null];
    refuseUnless(rows.every(Array.isArray), "weights-count", "channel.weights", "must be a list of lists");
    return new Matrix({ weights: Object.freeze(rows.map((row) => Object.freeze([...row]))) });
  }

  check(cells) {
    const { weights } = this;
    refuseUnless(weights.length === cells, "weights-count", "channel.weights", "must hold one row for each cell");
    const length = weights[0].length;
    const even = weights.every((row) => row.length === length) && length >= 1 && length <= Math.floor(MAX_CELLS / cells);
    const rule = "must hold equally long rows, at most 2**20 weights in all";
    refuseUnless(even, "weights-count", "channel.weights", rule);
    weights.forEach((row, x) => row.forEach((weight, y) => checkWeight(weight, `weights[${x}][${y}]`)));
    const sums = weights.every(sumWithin) && weights.map((row) => row.reduce((sum, weight) => sum + weight, 0));
    const one = sums && sums[0] > 0 && sums.every((sum) => sum === sums[0]);
    refuseUnless(one, "total", "channel.weights", "all rows must have one sum, 1 to 2**53");
    const confesses = "must be positive for all cells or for none: a report that some never give confesses";
    const safe = this.columns().every(({ low, high }) => low > 0 || high === 0);
    refuseUnless(safe, "weight-zero", "channel.weights", confesses);
  }

  excess() {
    const used = this.columns().filter(({ high }) => high > 0);
    return used.reduce((worst, { low, high }) => Math.max(worst, (high - low) / low), 0);
  }

  reports() {
    return this.weights[0].length;
  }

  kept() {
    const total = this.weights[0].reduce((sum, weight) => sum + weight, 0);
    return 1 - this.columns().reduce((sum, { low }) => sum + low, 0) / total;
  }

  drawFrom(cells, truth, words) {
    const sums = cumulative(this.weights[truth]);
    return search(sums, words.below(sums[sums.length - 1]));
  }

  columns() {
    return this.weights[0].map((_, y) => {
      const column = this.weights.map((row) => row[y]);
      return { low: least(column), high: column.reduce((a, b) => Math.max(a, b)) };
    });
  }
}

// A window: reports in a row, `width` of them from the start on with the weight `near`, all others with `far`. It may
// start at 0 to `last`.

function checkWindow({ width, near, far }, last) {
  const fits = isInteger(width) && width >= 1 && width <= MAX_CELLS - last;
  refuseUnless(fits, "width", "channel.width", "must be an integer of at least 1, with at most 2**20 reports in all");
  checkWeight(near, "near");
  checkFake(far, "far");
  refuseUnless(near > far, "threshold", "channel.near", "must be above far");
  const total = BigInt(width) * BigInt(near) + BigInt(last) * BigInt(far);
  refuseUnless(total <= BigInt(WORD_RANGE), "total", "channel", "must sum to at most 2**53");
}

/** 1 less the part of the law that all starts share. */
function windowKept({ width, near, far }, last) {
  const shared = Math.max(width - last, 0); // reports that lie in every window
  return 1 - (shared * near + (last + width - shared) * far) / (width * near + last * far);
}

function drawWindow({ width, near, far }, start, last, words) {
  const inside = width * near;
  const position = words.below(inside + last * far);
  // Both branches are computed, and the choice is a look-up.
  const other = Math.floor(Math.max(position - inside, 0) / far);
  return [other + width * Number(other >= start), start + Math.floor(position / near)][Number(position < inside)];
}

export class Wave extends Channel {
  static kind = "wave";
  static words = "matrix";
  static members = ["width", "near", "far"];

  static read(members) {
    return new Wave(pick(members, Wave.members));
  }

  check(cells) {
    checkWindow(this, cells - 1);
  }

  excess() {
    return windowExcess(this);
  }

  reports(cells) {
    return cells - 1 + this.width;
  }

  kept(cells) {
    return windowKept(this, cells - 1);
  }

  drawFrom(cells, truth, words) {
    return drawWindow(this, truth, cells - 1, words);
  }
}

/** The kinds for means: `points` has the position of each cell on the line, integers from 0 to the largest. */
class WithPoints extends Channel {
  static words = "matrix";

  static read(members) {
    refuseUnless(Array.isArray(members.points), "points", "channel.points", "must be a list");
    return new this({ ...pick(members, this.members), points: Object.freeze([...members.points]) });
  }

  checkPoints(cells) {
    const { points } = this;
    const rule = "must hold an integer for each cell, the least 0 and the largest 1 to 2**20 - 1";
    const good = points.length === cells && points.every(isInteger) && least(points) === 0;
    refuseUnless(good && this.last() >= 1 && this.last() < MAX_CELLS, "points", "channel.points", rule);
  }

  last() {
    return this.points.reduce((a, b) => Math.max(a, b));
  }
}

// A coin: the weight of heads is `least` + `step` times the point, for points from 0 to `last`.

function checkCoin({ least: low, step }, last) {
  checkFake(low, "least");
  checkWeight(step, "step");
  refuseUnless(step > 0, "threshold", "channel.step", "must be at least 1");
  const total = 2n * BigInt(low) + BigInt(step) * BigInt(last);
  refuseUnless(total <= BigInt(WORD_RANGE), "total", "channel", "must sum to at most 2**53");
}

const coinExcess = ({ least: low, step }, last) => (step * last) / low;
const coinKept = ({ least: low, step }, last) => (step * last) / (2 * low + step * last);
const windowExcess = ({ near, far }) => (near - far) / far;

function drawCoin({ least: low, step }, point, last, words) {
  return Number(words.below(2 * low + step * last) < low + step * point);
}

export class Duchi extends WithPoints {
  static kind = "duchi";
  static members = ["least", "step", "points"];

  check(cells) {
    this.checkPoints(cells);
    checkCoin(this, this.last());
  }

  excess() {
    return coinExcess(this, this.last());
  }

  reports() {
    return 2;
  }

  kept() {
    return coinKept(this, this.last());
  }

  drawFrom(cells, truth, words) {
    return drawCoin(this, this.points[truth], this.last(), words);
  }
}

export class Piecewise extends WithPoints {
  static kind = "piecewise";
  static members = ["width", "near", "far", "points"];

  check(cells) {
    this.checkPoints(cells);
    checkWindow(this, this.last());
  }

  excess() {
    return windowExcess(this);
  }

  reports() {
    return this.last() + this.width;
  }

  kept() {
    return windowKept(this, this.last());
  }

  drawFrom(cells, truth, words) {
    return drawWindow(this, this.points[truth], this.last(), words);
  }
}

export class Hybrid extends WithPoints {
  static kind = "hybrid";
  static members = ["mix", "bits", "least", "step", "width", "near", "far", "points"];

  check(cells) {
    const scale = checkBits(this.bits);
    checkWeight(this.mix, "mix");
    const between = this.mix >= 1 && this.mix < scale;
    refuseUnless(between, "threshold", "channel.mix", "must be at least 1 and below 2**bits");
    this.checkPoints(cells);
    checkCoin(this, this.last());
    checkWindow(this, this.last());
  }

  excess() {
    return Math.max(coinExcess(this, this.last()), windowExcess(this));
  }

  reports() {
    return this.last() + this.width + 2;
  }

  kept() {
    const share = this.mix / 2 ** this.bits;
    return share * windowKept(this, this.last()) + (1 - share) * coinKept(this, this.last());
  }

  // A coin for the part, then a die; which part it is, is no secret.
  drawFrom(cells, truth, words) {
    const [point, last] = [this.points[truth], this.last()];
    if (words.coin(this.mix, this.bits)) return drawWindow(this, point, last, words);
    return last + this.width + drawCoin(this, point, last, words);
  }
}

export class Fourier extends Inner {
  static kind = "fourier";
  static words = "hadamard";
  static members = ["order", "keep", "fake"];

  static read(members) {
    return new Fourier(pick(members, Fourier.members));
  }

  check(cells) {
    const bits = (cells & (cells - 1)) === 0;
    const fits = bits && isInteger(this.order) && this.order >= 1 && this.order <= Math.log2(cells);
    const rule = "must be an integer from 1 to the number of attributes, which must have two levels each";
    refuseUnless(fits, "order", "channel.order", rule);
    this.checkInner(2);
    refuseUnless(this.keep > 0, "threshold", "channel.keep", "must be at least 1");
  }

  kept() {
    return this.keep / (this.keep + 2 * this.fake);
  }

  drawFrom(cells, truth, words) {
    const masks = fourierMasks(Math.log2(cells), this.order);
    const number = words.below(masks.length);
    return 2 * number + this.send(2, parity(masks[number] & truth), words);
  }
}

// Bits of every set of 1 to `order` attributes, small sets first, then by their attributes; the last one is bit 0.
function fourierMasks(attributes, order) {
  const masks = [];
  const extend = (mask, from, left) => {
    if (left === 0) return void masks.push(mask);
    for (let place = from; place < attributes; place++) extend(mask | (1 << (attributes - 1 - place)), place + 1, left - 1);
  };
  for (let size = 1; size <= order; size++) extend(0, 0, size);
  return masks;
}

const MAX_ROWS = 2048;

export class Chain extends Channel {
  static kind = "chain";
  static words = "matrix";
  static members = ["sizes", "new", "given", "keep", "fake"];

  static read(members) {
    const depth = { sizes: 1, new: 2, given: 2, keep: 2, fake: 3 };
    return new Chain(Object.fromEntries(Chain.members.map((name) => [name, layers(members[name], depth[name], name)])));
  }

  check(cells) {
    const rule = `must divide all attributes of at most ${MAX_ROWS} cells among the segments, with weights for each`;
    refuseUnless(this.isWhole(cells), "segments", "channel.new", rule);
    this.fake.forEach((rows, j) =>
      rows.forEach((row, g) => {
        checkWeight(this.keep[j][g], `keep[${j}][${g}]`);
        row.forEach((weight, cell) => checkFake(weight, `fake[${j}][${g}][${cell}]`));
        refuseUnless(sumWithin([this.keep[j][g], ...row]), "total", "channel", "must sum to at most 2**53");
      }),
    );
  }

  isWhole(cells) {
    const { sizes } = this;
    const sized = sizes.every((size) => isInteger(size) && size >= 2 && size <= MAX_ROWS);
    if (!sized || cells > MAX_ROWS || this.size(sizes.keys()) !== cells) return false;
    const segments = this.new.length;
    if (!segments || [this.given, this.keep, this.fake].some((part) => part.length !== segments)) return false;
    const seen = [];
    for (let j = 0; j < segments; j++) {
      const [added, given] = [this.new[j], this.given[j]];
      if (!added.length || ![...added, ...given].every(isInteger)) return false;
      if (!given.every((place) => seen.includes(place)) || new Set(given).size < given.length) return false;
      seen.push(...added);
      if (seen.some((place) => place >= sizes.length) || new Set(seen).size < seen.length) return false;
      const [rows, columns] = [this.size(given), this.size(added)];
      if (this.keep[j].length !== rows || this.fake[j].length !== rows) return false;
      if (this.fake[j].some((row) => row.length !== columns)) return false;
    }
    return seen.length === sizes.length;
  }

  size(places) {
    let product = 1;
    for (const place of places) product *= this.sizes[place];
    return product;
  }

  codes(cell) {
    const found = [];
    for (const size of [...this.sizes].reverse()) {
      found.unshift(cell % size);
      cell = Math.floor(cell / size);
    }
    return found;
  }

  /** The cell of some attributes. */
  part(codes, places) {
    return places.reduce((cell, place) => cell * this.sizes[place] + codes[place], 0);
  }

  /** For every row: `of` the keep, the fake and the total of each of its segments, multiplied. */
  rows(of) {
    return Array.from({ length: this.size(this.sizes.keys()) }, (_, cell) => {
      const codes = this.codes(cell);
      return this.new.reduce((product, added, j) => {
        const g = this.part(codes, this.given[j]);
        const total = this.fake[j][g].reduce((sum, weight) => sum + weight, this.keep[j][g]);
        return product * of(this.keep[j][g], this.fake[j][g][this.part(codes, added)], total);
      }, 1);
    });
  }

  // A row's ratio less 1, without loss of digits for small ones: (1 + a)(1 + b) - 1 = a + b + a b.
  excess() {
    let worst = 0;
    for (let cell = 0; cell < this.size(this.sizes.keys()); cell++) {
      const codes = this.codes(cell);
      const excess = this.new.reduce((found, added, j) => {
        const g = this.part(codes, this.given[j]);
        const own = this.keep[j][g] / this.fake[j][g][this.part(codes, added)];
        return found + own + found * own;
      }, 0);
      worst = Math.max(worst, excess);
    }
    return worst;
  }

  reports(cells) {
    return cells;
  }

  kept() {
    return 1 - this.rows((keep, fake, total) => fake / total).reduce((sum, share) => sum + share, 0);
  }

  drawFrom(cells, truth, words) {
    const [own, sent] = [this.codes(truth), this.sizes.map(() => 0)];
    this.new.forEach((added, j) => {
      const g = this.part(sent, this.given[j]);
      const [keep, sums] = [this.keep[j][g], cumulative(this.fake[j][g])];
      const position = words.below(keep + sums[sums.length - 1]);
      // The search runs whether or not the truth is kept, and the choice is a look-up.
      const cell = search(sums, Math.max(position - keep, 0));
      let drawn = [cell, this.part(own, added)][Number(position < keep)];
      for (const place of [...added].reverse()) {
        sent[place] = drawn % this.sizes[place];
        drawn = Math.floor(drawn / this.sizes[place]);
      }
    });
    return this.part(sent, [...this.sizes.keys()]);
  }
}

function layers(value, depth, name) {
  refuseUnless(Array.isArray(value), "segments", `channel.${name}`, "must be lists of lists");
  return Object.freeze(depth === 1 ? [...value] : value.map((part) => layers(part, depth - 1, name)));
}

export const KINDS = new Map([RR, Unary, Hash, Hadamard, Subset, Matrix, Wave, Duchi, Piecewise, Hybrid, Fourier, Chain].map((kind) => [kind.kind, kind]));

/** A frozen copy of a channel of any kind, from parsed JSON; `check` it before use. */
export function readChannel(data) {
  // The kind comes before the members: an unknown kind has members of its own.
  const kind = isObject(data) && Object.hasOwn(data, "kind") ? KINDS.get(data.kind) : undefined;
  const rule = `must be an object of the kind ${[...KINDS.keys()].join(", ")}`;
  refuseUnless(kind !== undefined, "channel-kind", "channel.kind", rule);
  return kind.read(membersOf(data, "channel", ["kind", ...kind.members]));
}

/** A keyed mixer of 32-bit integers. */
export function hash32(seed, cell) {
  return mix(seed ^ mix((cell + 0x9e3779b9) | 0));
}

function mix(h) {
  h ^= h >>> 16;
  h = Math.imul(h, 0x7feb352d);
  h ^= h >>> 15;
  h = Math.imul(h, 0x846ca68b);
  return (h ^ (h >>> 16)) >>> 0;
}

function hadamardRows(cells) {
  let rows = 1;
  while (rows < cells) rows *= 2;
  return rows;
}

function parity(bits) {
  bits ^= bits >>> 16;
  bits ^= bits >>> 8;
  bits ^= bits >>> 4;
  bits ^= bits >>> 2;
  return (bits ^ (bits >>> 1)) & 1;
}

function pick(members, names) {
  return Object.fromEntries(names.map((name) => [name, members[name]]));
}

// Products of integers beyond 2**53 are taken exactly before the one division.
function quotient(above, below) {
  const product = (factors) => Number(factors.reduce((a, b) => BigInt(a) * BigInt(b), 1n));
  return product(above) / product(below);
}

// Math.min(...weights) would overflow the stack with many.
function least(weights) {
  return weights.reduce((a, b) => Math.min(a, b));
}

function sumWithin(weights) {
  let left = WORD_RANGE;
  // Compared before it is taken off: 2**53 + 1 is not a double, and would pass as 2**53.
  return weights.every((weight) => weight <= left && ((left -= weight), true));
}

function checkWeight(weight, name) {
  refuseUnless(isInteger(weight), "weight", `channel.${name}`, "must be an integer from 0 to 2**53 - 1");
}

function checkFake(weight, name) {
  checkWeight(weight, name);
  const rule = "must be at least 1: what is never faked confesses the truth";
  refuseUnless(weight > 0, "fake-zero", `channel.${name}`, rule);
}

function checkBits(bits) {
  const good = isInteger(bits) && bits >= 1 && bits <= 53;
  refuseUnless(good, "bits", "channel.bits", "must be an integer from 1 to 53");
  return 2 ** bits;
}
