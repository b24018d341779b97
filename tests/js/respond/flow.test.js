import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { afterEach, test } from "node:test";

import { Device, digest, verify } from "../page/client/index.js";
import { answerSurvey, fingerprintOf, openSurvey, withToken } from "../page/answering.js";
import { Keeping, USUAL_LIMITS } from "../page/keeping.js";
import { Problem, fetchSheet, sendWaiting } from "../page/sending.js";
import { MemoryStorage } from "./storage.js";

const TRUTH = "planted truth";
const QUESTION = {
  wire: 1,
  campaign: "c",
  question: "q1",
  asks: [{ attribute: "a", levels: ["x", "y", TRUTH] }],
  channel: { kind: "rr", keep: 1, fake: [1, 1, 1] },
  epsilon: 1,
};
const sheetOf = async (...questions) => ({
  title: "A survey",
  questions,
  digests: await Promise.all(questions.map((question) => digest(verify(question)))),
});
const SHEET = await sheetOf(QUESTION);

const realFetch = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = realFetch;
});

/** A service that answers in turn, or is away; keeps what it was asked. */
function serve(...answers) {
  const asked = [];
  globalThis.fetch = async (path, options) => {
    asked.push({ path, ...options });
    const [status, body] = answers[Math.min(asked.length, answers.length) - 1];
    if (status === 0) throw new TypeError("no network");
    return new Response(body === undefined ? null : JSON.stringify(body), { status });
  };
  return asked;
}

function device(storage) {
  return new Device({ service: "https://survey.example", storage, limitTotalEpsilon: 4, limitQuestionEpsilon: 2 });
}

async function answered(storage = new MemoryStorage()) {
  const keeping = new Keeping(storage);
  await answerSurvey(device(storage), keeping, "c", SHEET, { a: TRUTH });
  return { storage, keeping };
}

test("what is kept is the questions, the reports, the receipts and the state", async () => {
  const { keeping } = await answered();
  const survey = keeping.survey("c");
  assert.deepEqual(Object.keys(survey).sort(), ["digests", "questions", "receipts", "reports", "state", "title"]);
  assert.equal(survey.state, "waiting");
  assert.deepEqual(keeping.waiting(), ["c"]);
});

const OUTCOMES = [
  ["counted", [200, { accepted: 1, replayed: [] }], "sent"],
  ["counted before", [409, { code: "conflict", field: "report" }], "sent"],
  ["closed", [409, { code: "conflict", field: "campaign" }], "closed"],
  ["unknown", [404, { code: "unknown-name", field: "campaign" }], "gone"],
  ["some other thing is not there", [404, {}], "waiting"],
  ["refused", [422, { code: "invalid-input", field: "reports[0].answer" }], "refused"],
  ["too many", [429, { code: "too-many-requests" }], "waiting"],
  ["a fault", [500], "waiting"],
  ["a gateway", [502], "waiting"],
  ["no network", [0], "waiting"],
];
for (const [name, answer, state] of OUTCOMES) {
  test(`a report that is sent, ${name}: ${state}`, async () => {
    const { keeping } = await answered();
    const asked = serve(answer);
    const left = await sendWaiting(keeping);
    assert.equal(keeping.survey("c").state, state);
    assert.equal(left, state === "waiting" ? 1 : 0);
    assert.deepEqual(JSON.parse(asked[0].body), { reports: keeping.survey("c").reports });
    assert.equal(asked[0].path, "/v1/campaigns/c/reports");
    assert.equal(asked[0].credentials, "omit");
  });
}

test("a report is sent until it arrives, the very same each time, and then no more", async () => {
  const { keeping } = await answered();
  const asked = serve([0], [500], [200, {}]);
  for (let i = 0; i < 5; i++) await sendWaiting(keeping);
  assert.equal(asked.length, 3);
  assert.equal(new Set(asked.map(({ body }) => body)).size, 1);
});

test("the questions that were seen first are answered, whatever comes later", async () => {
  const keeping = new Keeping(new MemoryStorage());
  const fetched = async () => structuredClone(SHEET);
  assert.deepEqual(await openSurvey(keeping, "c", fetched), SHEET);
  const other = async () => ({ ...(await sheetOf({ ...QUESTION, question: "q2" })), title: "Another" });
  assert.deepEqual(await openSurvey(keeping, "c", other), SHEET);
});

test("without network what was seen is there; without both there is a problem", async () => {
  const away = async () => {
    throw new Problem("away");
  };
  const keeping = new Keeping(new MemoryStorage());
  await assert.rejects(openSurvey(keeping, "c", away), { kind: "away" });
  await openSurvey(keeping, "c", async () => SHEET);
  assert.deepEqual(await openSurvey(keeping, "c", away), SHEET);
});

test("a closed survey is not answered in vain", async () => {
  const keeping = new Keeping(new MemoryStorage());
  await openSurvey(keeping, "c", async () => SHEET);
  const closed = async () => {
    throw new Problem("closed");
  };
  await assert.rejects(openSurvey(keeping, "c", closed), { kind: "closed" });
});

test("a question that changed under its name is noticed before it is answered", async () => {
  const keeping = new Keeping(new MemoryStorage());
  await openSurvey(keeping, "c", async () => SHEET);
  const changed = { ...QUESTION, channel: { kind: "rr", keep: 2, fake: [2, 2, 2] } };
  const fetched = () => sheetOf(changed);
  await assert.rejects(openSurvey(keeping, "c", fetched), { kind: "changed" });
});

test("an answered survey is not asked for again", async () => {
  const { keeping } = await answered();
  const survey = await openSurvey(keeping, "c", () => assert.fail("asked"));
  assert.equal(survey.reports.length, 1);
});

test("what cannot be answered is not kept", async () => {
  const keeping = new Keeping(new MemoryStorage());
  const cheating = async () => ({ title: "A survey", questions: [{ ...QUESTION, epsilon: 0.1 }] });
  await assert.rejects(openSurvey(keeping, "c", cheating), { reason: "loss-over-promise" });
  assert.equal(keeping.survey("c"), null);
});

test("a crash between draw and keeping gives the same report on the next visit", async () => {
  const storage = new MemoryStorage();
  const full = { survey: () => null, keep: () => assert.fail("full") };
  await assert.rejects(answerSurvey(device(storage), full, "c", SHEET, { a: TRUTH }));
  const { answer, report } = JSON.parse(storage.getItem("tacita-ledger")).entries[0];
  const keeping = new Keeping(storage);
  const { reports } = await answerSurvey(device(storage), keeping, "c", SHEET, { a: "x" });
  assert.deepEqual([reports[0].answer, reports[0].report], [answer, report]);
});

test("the usual limits hold until others are set, and damage brings them back", () => {
  const storage = new MemoryStorage();
  const keeping = new Keeping(storage);
  assert.deepEqual(keeping.limits, USUAL_LIMITS);
  keeping.limits = { question: 1, total: 9 };
  assert.deepEqual(new Keeping(storage).limits, { question: 1, total: 9 });
  for (const text of ["{", "null", '{"question":-1,"total":2}', '{"question":1}']) {
    storage.setItem("tacita-limits", text);
    assert.deepEqual(keeping.limits, USUAL_LIMITS);
  }
});

test("what is fetched in place of questions is a problem with a name", async () => {
  const kinds = [
    [[404, {}], "unknown"],
    [[409, {}], "closed"],
    [[500], "away"],
    [[200, []], "away"],
    [[0], "away"],
  ];
  for (const [answer, kind] of kinds) {
    serve(answer);
    await assert.rejects(fetchSheet("c"), { kind });
  }
});

test("two tabs at once are given one view, and one report waits", async () => {
  const storage = new MemoryStorage();
  const [one, two] = [new Keeping(storage), new Keeping(storage)];
  const view = (number) => sheetOf({ ...QUESTION, question: `q${number}` });
  const tabs = await Promise.all([openSurvey(one, "c", async () => view(1)), openSurvey(two, "c", async () => view(2))]);
  assert.deepEqual(tabs[0], tabs[1]);
  const answers = [one, two].map((keeping) => answerSurvey(device(storage), keeping, "c", tabs[0], { a: TRUTH }));
  const [first, second] = await Promise.all(answers);
  assert.deepEqual(first.reports, second.reports);
  assert.deepEqual(one.survey("c").reports, first.reports);
});

test("a report that was sent does not wait again when another tab answers", async () => {
  const { storage, keeping } = await answered();
  keeping.keep("c", { ...keeping.survey("c"), state: "sent" });
  const late = await answerSurvey(device(storage), keeping, "c", SHEET, { a: TRUTH });
  assert.equal(late.state, "sent");
  assert.deepEqual(keeping.waiting(), []);
});

test("questions that are not among those of the fingerprint are refused, and so is a title that deceives", async () => {
  const lists = [undefined, [], ["0".repeat(64)], [1], SHEET.digests[0]];
  for (const digests of lists) {
    const tagged = async () => ({ ...SHEET, digests });
    await assert.rejects(openSurvey(new Keeping(new MemoryStorage()), "c", tagged), { kind: "changed" });
  }
  for (const title of ["", "A\u202esurvey", "A\u200bsurvey", "x".repeat(201)]) {
    const deceiving = async () => ({ ...SHEET, title });
    await assert.rejects(openSurvey(new Keeping(new MemoryStorage()), "c", deceiving), { reason: "text" });
  }
  assert.match(await fingerprintOf(SHEET), /^[0-9a-f]{32}$/);
  assert.notEqual(await fingerprintOf(SHEET), await fingerprintOf({ ...SHEET, title: "Another" }));
});

const { token: VECTOR } = JSON.parse(await readFile(process.env.BLIND_VECTORS, "utf8"));
const INVITED = await sheetOf({ ...QUESTION, key: VECTOR.key });

test("a code is traded once, and asked for again if the answer was lost", async () => {
  const keeping = new Keeping(new MemoryStorage());
  keeping.keep("c", INVITED);
  await assert.rejects(withToken(keeping, "c", INVITED, "", async () => ""), { kind: "code" });
  const sent = [];
  const lost = async (id, code, blinded) => {
    sent.push([id, code, blinded]);
    throw new Problem("away");
  };
  await assert.rejects(withToken(keeping, "c", INVITED, "abc", lost), { kind: "away" });
  await assert.rejects(withToken(keeping, "c", keeping.survey("c"), "abc", lost), { kind: "away" });
  assert.deepEqual(sent[0], sent[1]);
  const bad = async () => VECTOR.blind_signature;
  await assert.rejects(withToken(keeping, "c", keeping.survey("c"), "abc", bad), { reason: "token" });
  const bought = { ...INVITED, token: VECTOR.token };
  keeping.keep("c", bought);
  assert.deepEqual(await withToken(keeping, "c", bought, "", lost), bought);
  assert.equal(sent.length, 2);
});

test("a survey without a key needs no code", async () => {
  const never = async () => assert.fail("nothing is traded");
  assert.deepEqual(await withToken(new Keeping(new MemoryStorage()), "c", SHEET, "", never), SHEET);
});

test("surveys of two services are kept apart", () => {
  const storage = new MemoryStorage();
  const [own, other] = [new Keeping(storage), new Keeping(storage, "https://survey.example")];
  const waiting = { ...SHEET, reports: [{}], receipts: [{}], state: "waiting" };
  other.keep("c", waiting);
  assert.equal(own.survey("c"), null);
  assert.deepEqual([own.waiting(), other.waiting()], [[], ["c"]]);
});
