import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { verify } from "../page/client/index.js";
import { bowl, said, sent, setOf } from "../page/describe.js";
import { Words } from "../page/words.js";

const SMOKES = { attribute: "smokes", levels: ["never", "sometimes", "daily"] };
const SEX = { attribute: "sex", levels: ["f", "m"] };

function question(channel, asks = [SMOKES, SEX]) {
  return verify({ wire: 1, campaign: "c", question: "q", asks, channel, epsilon: 9 });
}

const CASES = {
  rr: { channel: { kind: "rr", keep: 2, fake: [1, 1, 1, 1, 1, 1] }, numbers: ["6", 0.25], own: 25 },
  unary: { channel: { kind: "unary", on: 5, off: 2, bits: 3 }, numbers: ["6", 0.625, 0.25], own: 63 },
  hash: { channel: { kind: "hash", cells: 3, keep: 4, fake: 2 }, numbers: ["6", "3", 0.4], own: 40 },
  hadamard: { channel: { kind: "hadamard", keep: 4, fake: 3 }, numbers: ["6", 0.4], own: 40 },
  subset: { channel: { kind: "subset", size: 2, on: 5, bits: 3 }, numbers: ["2", "6", 0.625, 0.3333], own: 63 },
  matrix: {
    channel: { kind: "matrix", weights: Array.from({ length: 6 }, (_, x) => [1 + x, 7 - x]) },
    numbers: ["2", 0.375],
    own: 63,
  },
  chain: {
    channel: { kind: "chain", sizes: [3, 2], new: [[0], [1]], given: [[], []], keep: [[1], [1]], fake: [[[1, 1, 1]], [[1, 1]]] },
    numbers: ["6", 0.5],
    own: 50,
  },
  fourier: {
    channel: { kind: "fourier", order: 2, keep: 4, fake: 3 },
    asks: [SEX, { attribute: "smokes", levels: ["no", "yes"] }],
    numbers: ["4", 0.4],
    own: 40,
  },
  wave: { channel: { kind: "wave", width: 3, near: 3, far: 1 }, numbers: ["8", 0.5714], own: 43 },
  duchi: { channel: { kind: "duchi", least: 3, step: 2, points: [0, 1, 2, 4, 6, 7] }, numbers: ["2", 0.3], own: 70 },
  piecewise: {
    channel: { kind: "piecewise", width: 3, near: 3, far: 1, points: [0, 1, 2, 4, 6, 7] },
    numbers: ["10", 0.625],
    own: 38,
  },
  hybrid: {
    channel: { kind: "hybrid", mix: 1, bits: 1, least: 3, step: 2, width: 3, near: 3, far: 1, points: [0, 1, 2, 4, 6, 7] },
    numbers: ["12", 0.4625],
    own: 54,
  },
};
// what the device sends, and what must be read from it in every language
const SENT = {
  rr: [[3, ["sometimes, m"]]],
  unary: [
    ["00", []],
    ["21", ["never + f", "daily + m"]],
  ],
  hash: [[[4000000000, 2], ["4000000000", "3"]]],
  hadamard: [[11, ["5", "2"]]],
  subset: [["03", ["never + f", "never + m"]]],
  matrix: [[1, ["2"]]],
  chain: [[4, ["5"]]],
  fourier: [[5, ["2"]]],
  wave: [[7, ["8"]]],
  duchi: [[1, ["2"]]],
  piecewise: [[9, ["10"]]],
  hybrid: [[11, ["12"]]],
};

for (const language of ["en", "it", "el"]) {
  const texts = JSON.parse(readFileSync(new URL(`../page/words/${language}.json`, import.meta.url)));
  const words = new Words(language, texts);
  for (const [kind, { channel, asks, numbers, own }] of Object.entries(CASES)) {
    test(`${language}: ${kind} says its chances before and what it sent after`, () => {
      const asked = question(channel, asks);
      const text = said(asked, words);
      for (const number of numbers) {
        assert.ok(text.includes(typeof number === "number" ? words.number(number) : number), `${number} in ${text}`);
      }
      for (const name of ["smokes", "sex"]) assert.ok(text.includes(name));
      assert.equal(bowl(asked, words).own, own);
      assert.ok(bowl(asked, words).text.includes(String(own)));
      for (const [answer, parts] of SENT[kind]) {
        for (const part of parts) assert.ok(sent(asked, answer, words).includes(part), sent(asked, answer, words));
      }
      for (const made of [text, bowl(asked, words).text, ...SENT[kind].map(([answer]) => sent(asked, answer, words))]) {
        assert.doesNotMatch(made, /\{|undefined|NaN/);
      }
    });
  }
}

test("the chances that are said are those of the device's own statement", () => {
  const english = JSON.parse(readFileSync(new URL("../page/words/en.json", import.meta.url)));
  const words = new Words("en", english);
  for (const { channel, asks } of Object.values(CASES)) {
    const asked = question(channel, asks);
    const kept = asked.channel.kept(asked.cells);
    const shown = asked.channel.words === "matrix" ? 1 - kept : kept;
    assert.ok(said(asked, words).includes(`probability ${words.number(shown)}`));
  }
});

test("packed bits are read as the wire packs them", () => {
  assert.deepEqual(setOf("0180", 16), [0, 15]);
  assert.deepEqual(setOf("ff03", 10), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.deepEqual(setOf("00", 6), []);
});

test("large sets are counted, not listed", () => {
  const texts = JSON.parse(readFileSync(new URL("../page/words/en.json", import.meta.url)));
  const levels = Array.from({ length: 40 }, (_, i) => `town ${i}`);
  const asked = question({ kind: "unary", on: 5, off: 2, bits: 3 }, [{ attribute: "town", levels }]);
  assert.equal(sent(asked, "ffff000000", new Words("en", texts)), "“town”: yes for 16 of 40 answers");
});
