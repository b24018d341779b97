// The vectors that every client shares; see spec/vectors and docs/reference/wire.md.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Device, Refused, cellOf, digest, drawTurns, readChannel, verify } from "../src/index.js";
import { content } from "../src/question.js";
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
    const verified = verify(question);
    const drawn = verified.channel.draw(verified.cells, cellOf(verified, value), listed(words));
    assert.deepEqual(drawn, { answer, words: consumed });
  });
}

test("loss", () => {
  const cases = vectors("loss");
  assert.ok(cases.length > 90);
  for (const { channel: data, cells, epsilon } of cases) {
    const channel = readChannel(data);
    channel.check(cells);
    close(channel.loss(cells), epsilon);
    assert.ok(channel.lossUpper(cells) >= epsilon, `${channel.lossUpper(cells)} is below ${epsilon}`);
  }
});

for (const { name, waves, turns, words, drawn, consumed } of vectors("lot")) {
  test(`lot: ${name}`, () => assert.deepEqual(drawTurns(waves, turns, listed(words)), { drawn, words: consumed }));
}

for (const { name, question, value, digest: expected, loss: epsilon, content: asked } of vectors("accept")) {
  test(`accept: ${name}`, async () => {
    const verified = verify(question);
    close(verified.loss, epsilon);
    assert.equal(await digest(verified), expected);
    if (asked) assert.equal(await content(verified), asked);
    const device = new Device({ service: "https://survey.example", storage: new MemoryStorage(), limitTotalEpsilon: 50, limitQuestionEpsilon: 50 });
    const { receipt } = await device.answer(question, value);
    assert.equal(receipt.digest, expected);
  });
}

async function prepared({ limits, before }) {
  const storage = new MemoryStorage();
  const device = new Device({ service: "https://survey.example", storage, limitTotalEpsilon: limits.total, limitQuestionEpsilon: limits.question });
  for (const earlier of before) await device.answer(earlier.question, earlier.value);
  return { device, ledger: () => storage.getItem("tacita-ledger") };
}

async function refused({ device, ledger }, reason, call) {
  const before = ledger();
  await assert.rejects(call(device), (error) => error instanceof Refused && error.reason === reason);
  assert.equal(ledger(), before, "a refusal charges nothing");
}

for (const vector of [...vectors("refuse"), ...vectors("text")]) {
  test(`refuse: ${vector.name}`, async () => {
    await refused(await prepared(vector), vector.reason, (device) => device.answer(vector.question, vector.value));
  });
}

for (const vector of vectors("sheet")) {
  test(`sheet: ${vector.name}`, async () => {
    const { reason, questions, values, limits } = vector;
    const ready = await prepared(vector);
    if (reason) return refused(ready, reason, (device) => device.answerSheet(questions, values));
    const given = await ready.device.answerSheet(questions, values);
    const verified = questions.map((question) => verify(question));
    assert.deepEqual(given.map(({ receipt }) => receipt.digest), await Promise.all(verified.map(digest)));
    const spent = verified.reduce((sum, { loss }) => sum + loss, 0);
    assert.ok(Math.abs((await ready.device.remaining()) - (limits.total - spent)) < 1e-9);
  });
}
