import assert from "node:assert/strict";
import { test } from "node:test";

import { Device, Refused, verify } from "../src/index.js";
import { save } from "../src/ledger.js";
import { cellOf } from "../src/question.js";
import { MemoryStorage } from "./storage.js";

const KEY = "tacita-ledger";
const LEVELS = ["never", "sometimes", "daily"];

const SMOKES = { attribute: "smokes", levels: LEVELS };
const SEX = { attribute: "sex", levels: ["f", "m"] };

function ask({ question = "q1", keep = 2, fake = [1, 1, 1], epsilon = 1.1, asks = [SMOKES] } = {}) {
  return { wire: 1, campaign: "c", question, asks, channel: { kind: "rr", keep, fake }, epsilon };
}

// Two attributes together, through each kind of channel.
const CHANNELS = [
  { kind: "rr", keep: 2, fake: [1, 1, 1, 1, 1, 1] },
  { kind: "unary", on: 5, off: 2, bits: 3 },
  { kind: "hash", cells: 3, keep: 4, fake: 2 },
  { kind: "hadamard", keep: 4, fake: 3 },
  { kind: "subset", size: 2, on: 5, bits: 3 },
  { kind: "matrix", weights: Array.from({ length: 6 }, (_, x) => [1 + x, 7 - x]) },
];

function joint(channel, question = "q2") {
  return { wire: 1, campaign: "c", question, asks: [SMOKES, SEX], channel, epsilon: 3 };
}

const SERVICE = "https://survey.example";
const ORIGINS = ["https://a.example", "https://b.example", "https://c.example"];

function make(storage = new MemoryStorage(), total = 4, each = 2, service = SERVICE) {
  return new Device({ service, storage, limitTotalEpsilon: total, limitQuestionEpsilon: each });
}

const refusedFor = (reason) => (error) => error instanceof Refused && error.reason === reason;

test("an answer gives a report with nothing else in it", async () => {
  const { report, receipt } = await make().answer(ask(), "daily");
  assert.deepEqual(Object.keys(report).sort(), ["answer", "campaign", "question", "report", "wire"]);
  assert.match(report.report, /^[0-9a-f]{32}$/);
  assert.deepEqual(receipt.sent, [LEVELS[report.answer]]);
  assert.match(receipt.date, /^\d{4}-\d\d-\d\d$/);
  const expected = ["answer", "attributes", "campaign", "date", "digest", "loss", "question", "report", "sent", "service"];
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
  const calls = Array.from({ length: 8 }, (_, i) => device.answer({ ...ask(), campaign: `c${i}` }, "never"));
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
    lock: (work) => storage.lock(work),
    getItem: (key) => storage.getItem(key),
    setItem: (key, value) => {
      if (++writes === 2) throw new Error("power failure");
      storage.setItem(key, value);
    },
  };
  await assert.rejects(make(failing).answer(ask(), "never"), { reason: "ledger-unavailable" });
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
  const asked = ask({ asks: [{ ...SMOKES }] });
  const verified = verify(asked);
  asked.channel.fake[0] = 0;
  asked.asks[0].attribute = "drinks";
  assert.equal(verified.channel.fake[0], 1);
  assert.equal(verified.asks[0].attribute, "smokes");
  for (const change of [
    () => verified.channel.fake.push(1),
    () => (verified.channel.keep = 9),
    () => verified.asks.pop(),
    () => verified.asks[0].levels.pop(),
  ]) {
    assert.throws(change, TypeError);
  }
  const table = { kind: "matrix", weights: [[2, 1], [1, 2]] };
  const other = verify({ ...ask(), asks: [SEX], channel: table });
  table.weights[0][1] = 0;
  assert.equal(other.channel.weights[0][1], 1);
  assert.throws(() => (other.channel.weights[0][0] = 9), TypeError);
});

test("members from a prototype do not count", async () => {
  const inherited = Object.create(ask());
  await assert.rejects(make().answer(inherited, "never"), refusedFor("wire-version"));
});

test("too many levels are refused before they are read", () => {
  const asks = [{ attribute: "smokes", levels: Array(2 ** 20 + 1).fill(null) }];
  assert.throws(() => verify(ask({ asks })), refusedFor("levels-count"));
});

test("every kind is answered once, and said in its own words", async () => {
  const words = [/your own; otherwise/, /A yes or a no for each/, /into 3 groups/, /two groups/, /A set of 2/, /One of 2/];
  const shapes = [/^\d$/, /^[0-9a-f]{2}$/, /^\d+,[012]$/, /^\d+$/, /^[0-9a-f]{2}$/, /^[01]$/];
  for (const [i, channel] of CHANNELS.entries()) {
    const storage = new MemoryStorage();
    const asked = joint(channel);
    const offer = await make(storage, 4, 3).review(asked);
    assert.match(offer.statement, words[i]);
    assert.match(offer.statement, /'smokes' and 'sex' together \(6 possible answers\)/);
    assert.ok(offer.kept > 0 && offer.kept < 1);
    assert.ok(Math.abs(Math.log(offer.odds) - offer.loss) < 1e-12);
    const first = await make(storage, 4, 3).answer(asked, { smokes: "daily", sex: "f" });
    assert.match(String(first.report.answer), shapes[i]);
    assert.equal(first.receipt.sent === null, channel.kind !== "rr");
    assert.doesNotMatch(storage.getItem(KEY), /daily|"f"/);
    assert.deepEqual(await make(storage, 4, 3).answer(asked, { smokes: "never", sex: "m" }), first);
  }
});

test("a sheet is reviewed and answered as a whole", async () => {
  const storage = new MemoryStorage();
  const list = [ask(), ask({ question: "q2", asks: [SEX], fake: [1, 1] })];
  const offer = await make(storage).reviewSheet(list);
  assert.ok(Math.abs(offer.charge - 2 * Math.log(3)) < 1e-12);
  assert.match(offer.statement, /^2 questions .* factor of 9 .* after all of them, 1.803\.$/);
  assert.ok(Math.abs(offer.offers[1].remaining - (4 - Math.log(3))) < 1e-9);
  assert.equal(storage.getItem(KEY), null);
  const first = await make(storage).answerSheet(list, { smokes: "daily", sex: "m" });
  assert.deepEqual(await make(storage).answer(list[1], "f"), first[1]);
  assert.deepEqual(await make(storage).answerSheet(list, { smokes: "never", sex: "f" }), first);
  await assert.rejects(make(undefined, 2).reviewSheet(list), refusedFor("budget-spent"));
  await assert.rejects(make().reviewSheet([list[0], list[0]]), refusedFor("attribute-repeated"));
});

test("no service learns what another has asked", async () => {
  const storage = new MemoryStorage();
  const there = make(storage, 4, 2, "https://other.example");
  const first = await make(storage).answer(ask(), "daily");
  const second = await there.answer(ask(), "daily");
  assert.notEqual(first.report.report, second.report.report);
  assert.ok(Math.abs((await there.remaining()) - (4 - 2 * Math.log(3))) < 1e-9);
  assert.deepEqual(await make(storage).answer(ask(), "never"), first);
});

test("an entry of an earlier version counts for every service", async () => {
  const storage = new MemoryStorage();
  const first = await make(storage).answer(ask(), "daily");
  const { entries } = JSON.parse(storage.getItem(KEY));
  for (const entry of entries) delete entry.service;
  await save(storage, KEY, { entries, lots: [] });
  for (const service of [SERVICE, "https://other.example"]) {
    const device = make(storage, 4, 2, service);
    assert.deepEqual((await device.answer(ask(), "never")).report, first.report);
    await assert.rejects(device.answer(ask({ question: "q2" }), "never"), refusedFor("campaign-answered"));
  }
});

test("a service is an origin", () => {
  for (const service of ["", "survey.example", "https://survey.example/c", "ftp://survey.example", undefined]) {
    assert.throws(() => make(undefined, 4, 2, service ?? null), RangeError);
  }
});

test("a report belongs to the aggregator that asks first", async () => {
  const shared = { ...ask(), aggregators: ORIGINS };
  for (let i = 0; i < 30; i++) {
    const storage = new MemoryStorage();
    const { report, receipt } = await make(storage, 4, 2, ORIGINS[i % 3]).answer(shared, "daily");
    assert.equal(BigInt(`0x${report.report}`) % 3n, BigInt(i % 3));
    assert.equal(receipt.service, ORIGINS[i % 3]);
    const again = await make(storage, 4, 2, ORIGINS[(i + 1) % 3]).answer(shared, "never");
    assert.deepEqual(again, { report, receipt });
    await assert.rejects(make(storage).answer(shared, "never"), refusedFor("other-aggregator"));
  }
});

test("a storage without a lock is refused where there is no browser", async () => {
  const kept = new MemoryStorage();
  const storage = { getItem: (key) => kept.getItem(key), setItem: (key, value) => kept.setItem(key, value) };
  await assert.rejects(make(storage).answer(ask(), "never"), refusedFor("ledger-unavailable"));
  await assert.rejects(make(storage).review(ask()), refusedFor("ledger-unavailable"));
  assert.equal(kept.getItem(KEY), null);
});

test("the time to find a level does not depend on its place", () => {
  const levels = Array.from({ length: 1000 }, (_, i) => `level ${i}`);
  let looks = 0;
  const { places } = verify(ask({ asks: [{ attribute: "a", levels }], fake: Array(1000).fill(1) })).asks[0];
  const listed = { indexOf: () => (looks += 1), includes: () => (looks += 1), length: levels.length };
  const found = (level) => cellOf({ asks: [{ attribute: "a", levels: listed, places }] }, { a: level });
  assert.deepEqual([found("level 0"), found("level 999")], [0, 999]);
  assert.equal(looks, 0, "levels are looked up, not searched");
});

// The contract with the releases, which state the loss of one sheet.
test("a device that answers all it is offered loses what one sheet costs", async () => {
  const storage = new MemoryStorage();
  const sheets = [
    [ask(), ask({ question: "q2", asks: [SEX], fake: [1, 1] })],
    [ask({ question: "q3", fake: [2, 2, 2] })],
    [ask({ question: "q1.2" }), ask({ question: "q2.2", asks: [SEX], fake: [1, 1] })],
    [ask({ question: "q3.2" })],
  ];
  const offered = await make(storage, 100).reviewSheet(sheets[0]);
  const tried = [];
  for (const sheet of [...sheets, ...sheets]) {
    const call = make(storage, 100).answerSheet(sheet, { smokes: "daily", sex: "m" });
    tried.push(await call.then(() => "answered", ({ reason }) => reason));
  }
  const refused = "campaign-answered";
  assert.deepEqual(tried, ["answered", refused, refused, refused, "answered", refused, refused, refused]);
  assert.ok(Math.abs(100 - (await make(storage, 100).remaining()) - offered.charge) < 1e-9);
  await assert.rejects(make(storage, 100).reviewSheet(sheets[1]), refusedFor(refused));
});

test("a failure while a sheet is charged draws nothing", async () => {
  const list = [ask(), ask({ question: "q2", asks: [SEX], fake: [1, 1] })];
  const stored = [];
  const failing = {
    lock: (work) => work(),
    getItem: () => null,
    setItem: (_, text) => {
      stored.push(JSON.parse(text).entries);
      throw new Error("power failure");
    },
  };
  await assert.rejects(make(failing).answerSheet(list, { smokes: "daily", sex: "m" }), { reason: "ledger-unavailable" });
  assert.equal(stored.length, 1);
  assert.deepEqual(stored[0].map(({ report }) => report), [null, null]);
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

test("two devices over one storage do not spend the last twice", async () => {
  const storage = new MemoryStorage();
  const limits = { limitTotalEpsilon: 1.2, limitQuestionEpsilon: 1.2 };
  const slow = {
    lock: (work) => storage.lock(work),
    getItem: async (key) => (await new Promise((done) => setTimeout(done, 2)), storage.getItem(key)),
    setItem: async (key, value) => (await new Promise((done) => setTimeout(done, 2)), storage.setItem(key, value)),
  };
  const devices = [new Device({ service: "https://survey.example", storage: slow, ...limits }), new Device({ service: "https://survey.example", storage: slow, ...limits })];
  const asked = [ask(), { ...ask(), campaign: "another" }];
  const tried = await Promise.allSettled(devices.map((device, i) => device.answer(asked[i], "never")));
  assert.deepEqual(tried.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  const again = await Promise.all(devices.map((device) => device.answer(asked[tried[0].status === "fulfilled" ? 0 : 1], "never")));
  assert.equal(again[0].report.report, again[1].report.report);
});

test("a storage that forgets is refused before anything is drawn", async () => {
  const device = new Device({
    service: "https://survey.example",
    storage: { lock: (work) => work(), getItem: () => null, setItem: () => {} },
    limitTotalEpsilon: 2,
    limitQuestionEpsilon: 2,
  });
  await assert.rejects(device.answer(ask(), "never"), { reason: "ledger-unavailable" });
});

test("who has no value answers by chance", async () => {
  const seen = new Set();
  for (let i = 0; i < 60; i++) {
    const device = new Device({ service: "https://survey.example", storage: new MemoryStorage(), limitTotalEpsilon: 2, limitQuestionEpsilon: 2 });
    seen.add((await device.answer(ask(), null)).report.answer);
  }
  assert.equal(seen.size, ask().asks[0].levels.length);
});

function wave(number, { waves = 3, turns = 1, epsilon = 3.5, ...members } = {}) {
  const series = { id: "panel", wave: number, waves, turns, epsilon };
  return { ...ask(), campaign: `panel.${number}`, series, ...members };
}

/** The waves in which a device answers, asked in all of them. */
async function turnsOf(device, waves, turns) {
  const mine = [];
  for (let number = 1; number <= waves; number++) {
    try {
      await device.review(wave(number, { waves, turns }));
      mine.push(number);
    } catch (error) {
      assert.equal(error.reason, "not-your-turn");
      assert.ok(error.next === null || error.next > number);
    }
  }
  return mine;
}

test("the waves of a series are drawn once, and looking at them costs nothing", async () => {
  const [storage, seen] = [new MemoryStorage(), new Set()];
  const first = await turnsOf(make(storage), 5, 2);
  assert.equal(first.length, 2);
  assert.deepEqual(await turnsOf(make(storage), 5, 2), first);
  assert.equal(await make(storage).remaining(), 4);
  for (let i = 0; i < 60; i++) for (const number of await turnsOf(make(), 5, 2)) seen.add(number);
  assert.equal(seen.size, 5);
});

test("each turn is a new report and a new charge, and a wave is answered once", async () => {
  const device = make();
  const first = await device.answer(wave(1, { turns: 3 }), "daily");
  const second = await device.answer(wave(2, { turns: 3 }), "daily");
  assert.notEqual(first.report.report, second.report.report);
  assert.deepEqual(await device.answer(wave(2, { turns: 3 }), "never"), second);
  assert.ok(Math.abs((await device.remaining()) - (4 - 2 * Math.log(3))) < 1e-9);
  const again = device.answer(wave(1, { turns: 3, campaign: "again" }), "daily");
  await assert.rejects(again, refusedFor("campaign-answered"));
  const channel = { kind: "rr", keep: 2, fake: [1, 1, 2] };
  const changed = device.answer(wave(3, { turns: 3, channel }), "daily");
  await assert.rejects(changed, refusedFor("question-changed"));
});

test("the terms of a series hold from the lot on", async () => {
  const storage = new MemoryStorage();
  const mine = await turnsOf(make(storage), 3, 1);
  for (const terms of [{ turns: 2 }, { waves: 4 }, { epsilon: 2 }]) {
    await assert.rejects(make(storage).review(wave(mine[0], terms)), refusedFor("series-changed"));
  }
  const text = storage.getItem(KEY);
  storage.setItem(KEY, text.replace('"turns":1', '"turns":2'));
  await assert.rejects(make(storage).review(wave(1)), refusedFor("ledger-corrupt"));
});

test("the statement names the promise of all waves", async () => {
  const { statement } = await make().review(wave(2, { turns: 3 }));
  assert.match(statement, /wave 2 of 3 of the series 'panel'/);
  assert.match(statement, /all its answers in all waves together lose at most 3\./);
});
