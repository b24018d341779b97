// The vectors that every client shares; see spec/vectors and docs/reference/wire.md.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Device, Refused, digest, draw, loss, verify } from "../src/index.js";
import { MemoryStorage } from "./storage.js";

const vectors = (name) => JSON.parse(readFileSync(new URL(`../../../spec/vectors/${name}.json`, import.meta.url)));

function close(actual, expected) {
  assert.ok(Math.abs(actual - expected) <= 1e-12 * Math.abs(expected), `${actual} is not ${expected}`);
}

function listed(words) {
  const left = words.map((word) => new DataView(new Uint8Array(Buffer.from(word, "hex")).buffer));
  return () => {
    const word = left.shift();
    return [word.getUint32(0, true), word.getUint32(4, true)];
  };
}

for (const { name, question, value, words, answer, consumed } of vectors("draw")) {
  test(`draw: ${name}`, () => {
    const { keep, fake, levels } = verify(question);
    const drawn = draw(keep, fake, levels.indexOf(value), listed(words));
    assert.deepEqual(drawn, { answer, words: consumed });
  });
}

test("loss", () => {
  const cases = vectors("loss");
  assert.ok(cases.length > 30);
  for (const { channel, epsilon } of cases) close(loss(channel.keep, channel.fake), epsilon);
});

for (const { name, question, value, digest: expected, loss: epsilon } of vectors("accept")) {
  test(`accept: ${name}`, async () => {
    const verified = verify(question);
    close(verified.loss, epsilon);
    assert.equal(await digest(verified), expected);
    const device = new Device({ storage: new MemoryStorage(), limitTotalEpsilon: 50, limitQuestionEpsilon: 50 });
    const { receipt } = await device.answer(question, value);
    assert.equal(receipt.digest, expected);
  });
}

for (const { name, reason, question, value, limits, before } of [...vectors("refuse"), ...vectors("text")]) {
  test(`refuse: ${name}`, async () => {
    const storage = new MemoryStorage();
    const device = new Device({ storage, limitTotalEpsilon: limits.total, limitQuestionEpsilon: limits.question });
    for (const earlier of before) await device.answer(earlier.question, earlier.value);
    const ledger = storage.getItem("tacita-ledger");
    await assert.rejects(device.answer(question, value), (error) => error instanceof Refused && error.reason === reason);
    assert.equal(storage.getItem("tacita-ledger"), ledger, "a refusal charges nothing");
  });
}
