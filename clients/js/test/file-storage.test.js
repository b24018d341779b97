import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { fileStorage } from "../node/file-storage.js";
import { Device } from "../src/index.js";

const QUESTION = {
  wire: 1,
  campaign: "c",
  question: "q1",
  asks: [{ attribute: "smokes", levels: ["never", "daily"] }],
  channel: { kind: "rr", keep: 2, fake: [1, 1] },
  epsilon: 1.1,
};
const device = (path) =>
  new Device({
    service: "https://survey.example",
    storage: fileStorage(path),
    limitTotalEpsilon: 2,
    limitQuestionEpsilon: 2,
  });

const RACER = `
import { Device } from ${JSON.stringify(new URL("../src/index.js", import.meta.url))};
import { fileStorage } from ${JSON.stringify(new URL("../node/file-storage.js", import.meta.url))};
const [path, question] = process.argv.slice(1);
const storage = fileStorage(path);
const device = new Device({ service: "https://survey.example", storage, limitTotalEpsilon: 2, limitQuestionEpsilon: 2 });
console.log((await device.answer(question, "daily")).report.report);
`;

function race(path) {
  const script = ["--input-type=module", "--eval", RACER, path, JSON.stringify(QUESTION)];
  const racer = spawn(process.execPath, script, { stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((done) => {
    let text = "";
    racer.stdout.on("data", (more) => (text += more));
    racer.on("close", () => done(text.trim()));
  });
}

test("processes and objects over one file give one report for one charge", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "tacita-"));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, "ledger.json");
  const inside = Array.from({ length: 8 }, async () => (await device(path).answer(QUESTION, "never")).report.report);
  const reports = await Promise.all([...inside, race(path), race(path)]);
  assert.equal(new Set(reports).size, 1);
  assert.match(reports[0], /^[0-9a-f]{32}$/);
  assert.ok(Math.abs((await device(path).remaining()) - (2 - Math.log(3))) < 1e-9);
});
