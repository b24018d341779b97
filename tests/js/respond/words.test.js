import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { Words, pick } from "../page/words.js";

const FOLDER = new URL("../page/words/", import.meta.url);
const LANGUAGES = readdirSync(FOLDER).map((name) => name.replace(".json", ""));
const read = (language) => JSON.parse(readFileSync(new URL(`${language}.json`, FOLDER)));
const ENGLISH = read("en");
const places = (text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();

test("the languages to start with are there", () => {
  for (const language of ["el", "en", "it"]) assert.ok(LANGUAGES.includes(language));
});

for (const language of LANGUAGES) {
  test(`${language} has every text, with the same places to fill, and none is empty`, () => {
    const texts = read(language);
    assert.deepEqual(Object.keys(texts), Object.keys(ENGLISH));
    for (const [key, text] of Object.entries(texts)) {
      assert.deepEqual(places(text), places(ENGLISH[key]), key);
      assert.ok(text.trim(), key);
    }
  });

  test(`${language} was translated`, () => {
    if (language === "en") return;
    const same = Object.entries(read(language)).filter(([key, text]) => text === ENGLISH[key]);
    assert.deepEqual(same.map(([key]) => key), ["sent.level"]);
  });
}

test("every text that the page asks for exists, and every text is asked for", () => {
  const folder = new URL("../page/", import.meta.url);
  const modules = readdirSync(folder).filter((name) => name.endsWith(".js"));
  const code = modules.map((name) => readFileSync(new URL(name, folder), "utf8")).join("\n");
  const asked = [...code.matchAll(/\b(?:say|count)\(\s*"([\w.]+)"/g)].map(([, key]) => key);
  assert.ok(asked.length > 30);
  for (const key of asked) assert.ok(key in ENGLISH || `${key}.other` in ENGLISH, key);
  const dynamic = /^(button|said|toss|result|receipt|problem|limits|names)\./;
  const unused = Object.keys(ENGLISH).filter((key) => !dynamic.test(key) && !asked.includes(key));
  assert.deepEqual(unused.filter((key) => !asked.includes(key.replace(/\.(one|other)$/, ""))), []);
});

test("texts are filled as they are, whatever stands in them", () => {
  const words = new Words("en", { a: "{x} and {y}" });
  assert.equal(words.say("a", { x: "{y} $& <b>", y: 0.123456 }), "{y} $& <b> and 0.1235");
});

test("numbers are written as the language writes them", () => {
  assert.equal(new Words("it", read("it")).number(0.25), "0,25");
  assert.equal(new Words("el", read("el")).number(1234), "1234");
});

test("a chance is also so many in a hundred, unless that says none or all", () => {
  const words = new Words("en", ENGLISH);
  assert.equal(words.chance(0.3642), "0.3642 (about 36 in 100)");
  assert.equal(words.chance(0.001), "0.001");
  assert.equal(words.chance(0.999), "0.999");
});

test("one and many", () => {
  const words = new Words("en", ENGLISH);
  assert.equal(words.count("welcome.count", 1), ENGLISH["welcome.count.one"]);
  assert.match(words.count("welcome.count", 3), /3 questions/);
});

test("the first language that is known is taken", () => {
  assert.equal(pick(["de-DE", "it-CH", "el"], ["el", "en", "it"]), "it");
  assert.equal(pick(["EL"], ["el", "en"]), "el");
  assert.equal(pick(["de", "../en"], ["el", "en"]), "en");
  assert.equal(pick([], ["el", "en"]), "en");
});
