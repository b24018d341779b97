import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { blind, bytes, finalize, isKey, isSigned, isToken, prepare, reportId, tokenOf } from "../src/blind.js";
import { Device, Refused } from "../src/index.js";
import { MemoryStorage } from "./storage.js";

const vectors = JSON.parse(readFileSync(new URL("../../../spec/vectors/blind.json", import.meta.url)));
const { rfc9474: rfc, token: shared } = vectors;
const refusedFor = (reason) => (error) => error instanceof Refused && error.reason === reason;

function inverse(value, modulus) {
  let [a, b, x, y] = [modulus, value, 0n, 1n];
  while (b > 0n) [a, b, x, y] = [b, a % b, y, x - (a / b) * y];
  return ((x % modulus) + modulus) % modulus;
}

test("the vector of the RFC", async () => {
  const factor = inverse(BigInt(`0x${rfc.inv}`), BigInt(`0x${rfc.n}`));
  const message = bytes(rfc.prefix + rfc.msg);
  const blinded = await blind(message, rfc.n, { salt: bytes(rfc.salt), factor });
  assert.equal(blinded.sent, rfc.blinded_msg);
  assert.equal(blinded.inverse, rfc.inv);
  assert.equal(finalize(blinded, rfc.blind_sig), rfc.sig);
  assert.ok(await isSigned(message, rfc.sig, rfc.n));
});

test("the vector of both clients", async () => {
  const given = { salt: bytes(shared.salt), factor: BigInt(`0x${shared.factor}`) };
  const blinded = await blind(bytes(shared.message), shared.key, given);
  assert.deepEqual([blinded.sent, blinded.inverse], [shared.sent, shared.inverse]);
  assert.equal(tokenOf(JSON.parse(JSON.stringify(blinded)), shared.blind_signature), shared.token);
  assert.ok(await isToken(shared.token, shared.key));
  for (const [place, id] of shared.reports.entries()) assert.equal(await reportId(shared.token, place), id);
});

test("what is no token and no key", async () => {
  const changed = shared.token.slice(0, -1) + (shared.token.endsWith("0") ? "1" : "0");
  for (const wrong of [changed, shared.token.slice(2), "", null, undefined]) {
    assert.equal(await isToken(wrong, shared.key), false);
  }
  assert.ok(isKey(shared.key));
  for (const wrong of ["", "0".repeat(512), "F".repeat(512), `7${"f".repeat(511)}`, `${"f".repeat(511)}e`, null]) {
    assert.equal(isKey(wrong), false);
  }
});

test("blinding is fresh, and wrong signatures are refused", async () => {
  const message = prepare();
  const [one, two] = [await blind(message, shared.key), await blind(message, shared.key)];
  assert.notEqual(one.sent, two.sent);
  for (const wrong of [shared.blind_signature, "", "0".repeat(512), null]) {
    assert.throws(() => finalize(one, wrong), refusedFor("token"));
  }
});

const QUESTION = {
  wire: 1,
  campaign: "c",
  question: "q1",
  asks: [{ attribute: "smokes", levels: ["never", "daily"] }],
  channel: { kind: "rr", keep: 2, fake: [1, 1] },
  epsilon: 1.1,
  key: shared.key,
};
const sex = { ...QUESTION, question: "q2", asks: [{ attribute: "sex", levels: ["f", "m"] }] };

test("an invited campaign is answered with a token, which names the reports", async () => {
  const options = { service: "https://survey.example", limitTotalEpsilon: 4, limitQuestionEpsilon: 2 };
  const storage = new MemoryStorage();
  const device = new Device({ ...options, storage });
  for (const token of [undefined, "00", shared.token.replace(/^./, (digit) => (digit === "0" ? "1" : "0"))]) {
    const call = device.answerSheet([QUESTION, sex], { smokes: "daily", sex: "f" }, { token });
    await assert.rejects(call, refusedFor("token"));
  }
  assert.equal(await device.remaining(), 4);
  const given = await device.answerSheet([QUESTION, sex], { smokes: "daily", sex: "f" }, shared);
  assert.deepEqual(given.map(({ report }) => report.report), shared.reports.slice(0, 2));
  for (const { report, receipt } of given) {
    assert.equal(report.token, shared.token);
    assert.equal(receipt.token, undefined);
  }
  assert.deepEqual(await device.answerSheet([QUESTION, sex], { smokes: "never", sex: "m" }), given);
});
