import assert from "node:assert/strict";
import { test } from "node:test";

import { Device, Refused, verify } from "../src/index.js";
import { MemoryStorage } from "./storage.js";

const KEY = "tacita-ledger";
const LEVELS = ["never", "sometimes", "daily"];

function ask({ question = "q1", keep = 2, fake = [1, 1, 1], epsilon = 1.1 } = {}) {
  const channel = { kind: "rr", keep, fake };
  return { wire: 1, campaign: "c", question, attribute: "smokes", levels: LEVELS, channel, epsilon };
}

function make(storage = new MemoryStorage(), total = 4, each = 2) {
  return new Device({ storage, limitTotalEpsilon: total, limitQuestionEpsilon: each });
}

const refusedFor = (reason) => (error) => error instanceof Refused && error.reason === reason;

test("an answer gives a report with nothing else in it", async () => {
  const { report, receipt } = await make().answer(ask(), "daily");
  assert.deepEqual(Object.keys(report).sort(), ["answer", "campaign", "question", "report", "wire"]);
  assert.match(report.report, /^[0-9a-f]{32}$/);
  assert.equal(receipt.level, LEVELS[report.answer]);
  assert.match(receipt.date, /^\d{4}-\d\d-\d\d$/);
  const expected = ["answer", "attribute", "campaign", "date", "digest", "level", "loss", "question", "report"];
  assert.deepEqual(Object.keys(receipt).sort(), expected);
});

test("the same question gets the same report, also from a new device on the same storage", async () => {
  const storage = new MemoryStorage();
  const first = await make(storage).answer(ask(), "daily");
  for (const value of LEVELS) assert.deepEqual(await make(storage).answer(JSON.stringify(ask()), value), first);
  assert.ok(Math.abs((await make(storage).remaining()) - (4 - Math.log(3))) < 1e-9);
});

test("neither the value nor the coin is stored", async () => {
  const storage = new MemoryStorage();
  await make(storage).answer(ask({ keep: 0, fake: [2 ** 50, 1, 1] }), "daily");
  assert.doesNotMatch(storage.getItem(KEY), /daily|keep|kept|truth/);
});

test("a review says the cost and charges nothing", async () => {
  const storage = new MemoryStorage();
  const offer = await make(storage).review(ask());
  assert.ok(Math.abs(offer.loss - Math.log(3)) < 1e-12);
  assert.equal(offer.kept, 0.4);
  assert.equal(offer.odds, 3);
  assert.equal(offer.remaining, 4);
  assert.match(offer.statement, /probability 0.4 .* factor of 3 .* 4 of its budget left; after this answer, 2.901\./);
  assert.equal(storage.getItem(KEY), null);
  await make(storage).answer(ask(), "never");
  const again = await make(storage).review(ask());
  assert.equal(again.charge, 0);
  assert.match(again.statement, /costs nothing more/);
});

test("a review refuses what an answer would refuse", async () => {
  await assert.rejects(make(undefined, 4, 0.5).review(ask()), refusedFor("loss-over-question-limit"));
  await assert.rejects(make(undefined, 1, 2).review(ask()), refusedFor("budget-spent"));
  await assert.rejects(make().review({}), refusedFor("wire-version"));
  await assert.rejects(make().review("{"), refusedFor("not-json"));
});

test("calls at the same time cannot both take the last of the budget", async () => {
  const device = make(undefined, 1.5);
  const calls = Array.from({ length: 8 }, (_, i) => device.answer(ask({ question: `q${i}` }), "never"));
  const results = await Promise.allSettled(calls);
  assert.equal(results.filter((result) => result.status === "fulfilled").length, 1);
  for (const { reason } of results.filter((result) => result.status === "rejected")) {
    assert.equal(reason.reason, "budget-spent");
  }
});

test("a failure between charge and report leaves the charge spent, and pays for the next try", async () => {
  const storage = new MemoryStorage();
  let writes = 0;
  const failing = {
    getItem: (key) => storage.getItem(key),
    setItem: (key, value) => {
      if (++writes === 2) throw new Error("power failure");
      storage.setItem(key, value);
    },
  };
  await assert.rejects(make(failing).answer(ask(), "never"), /power failure/);
  const left = await make(storage).remaining();
  assert.ok(left < 3);
  const { report } = await make(storage).answer(ask(), "never");
  assert.match(report.report, /^[0-9a-f]{32}$/);
  assert.equal(await make(storage).remaining(), left);
});

test("a damaged ledger is refused and left as it is", async () => {
  const storage = new MemoryStorage();
  await make(storage).answer(ask(), "never");
  const whole = storage.getItem(KEY);
  const damaged = ["", "{}", "null", "[]", whole.slice(0, -5), whole.replace(/"loss":[\d.]+/, '"loss":0')];
  for (const text of damaged) {
    storage.setItem(KEY, text);
    await assert.rejects(make(storage).answer(ask({ question: "q2" }), "never"), refusedFor("ledger-corrupt"));
    await assert.rejects(make(storage).review(ask()), refusedFor("ledger-corrupt"));
    assert.equal(storage.getItem(KEY), text);
  }
});

test("limits must be positive and finite", () => {
  for (const limit of [0, -1, NaN, Infinity, null, "4"]) assert.throws(() => make(undefined, limit), RangeError);
});

test("a verified question cannot be changed afterwards", () => {
  const asked = ask();
  const verified = verify(asked);
  asked.channel.fake[0] = 0;
  assert.equal(verified.fake[0], 1);
  assert.throws(() => verified.fake.push(1), TypeError);
});

test("members from a prototype do not count", async () => {
  const inherited = Object.create(ask());
  await assert.rejects(make().answer(inherited, "never"), refusedFor("wire-version"));
});

test("answers follow the weights", async () => {
  const counts = [0, 0, 0];
  for (let i = 0; i < 3000; i++) {
    const { report } = await make(undefined, 2, 2).answer(ask(), "sometimes");
    counts[report.answer] += 1;
  }
  // 600, 1800, 600 expected; seven standard deviations are about 150 and 190
  assert.ok(Math.abs(counts[0] - 600) < 155 && Math.abs(counts[1] - 1800) < 190, counts.join());
});
