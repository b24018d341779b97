// What each step shows. A step is a list of elements that begins with its heading; what it does is passed in.

import { bowl, said, sent } from "./describe.js";
import { make } from "./elements.js";
import { isLimit } from "./keeping.js";

const FEW = 12; // levels that are all shown at once; more go into a list to choose from

export function heading(text) {
  return make("h1", { tabindex: "-1" }, text);
}

function button(words, key, click, parts = {}) {
  return make("button", { type: "button", click, ...parts }, words.say(`button.${key}`));
}

const quiet = (text) => make("p", { class: "quiet" }, text);

export function welcome({ words, survey, questions, offer, limits, host, mark }, { begin, refuse, changeLimits }) {
  const asked = questions.reduce((count, { asks }) => count + asks.length, 0);
  return [
    heading(survey.title),
    make("p", {}, `${words.say("welcome.who", { host })} ${words.count("welcome.count", asked)}`),
    make("p", {}, words.say("welcome.how")),
    make("p", {}, words.say("welcome.nothing")),
    make(
      "div",
      { class: "buttons" },
      button(words, "begin", begin, { class: "main" }),
      button(words, "refuse", refuse, { class: "refuse" }),
    ),
    ...terms({ words, questions, offer, limits }),
    quiet(words.say("welcome.address")),
    ...(mark ? [quiet(words.say("welcome.mark", { mark: spaced(mark) }))] : []),
    limitsForm(words, limits, changeLimits),
  ];
}

/** Hexadecimal digits in groups, to be compared by eye. */
const spaced = (digits) => digits.match(/.{1,4}/g).join(" ");

/** What is sent and what it costs. */
function terms({ words, questions, offer, limits }) {
  return [
    make("h2", {}, words.say("welcome.sent")),
    make("ul", {}, ...questions.map((question) => make("li", {}, said(question, words)))),
    quiet(words.say("said.id")),
    make("h2", {}, words.say("welcome.cost")),
    make("p", {}, words.say("cost.odds", { odds: upwards(Math.exp(offer.loss)) })),
    make(
      "p",
      { class: "figure" },
      words.say("cost.loss", { loss: offer.loss }),
      ` (${words.say("cost.exact", { exact: String(offer.loss) })})`,
    ),
    make("p", { class: "figure" }, budget(words, offer, limits)),
    ...(questions[0].series ? [make("p", {}, promise(words, questions[0].series))] : []),
  ];
}

/** What a series promises over all its waves. */
function promise(words, { wave, waves, turns, epsilon }) {
  const odds = upwards(Math.exp(epsilon));
  return words.say("cost.series", { wave, waves, turns, loss: upwards(epsilon), odds });
}

// What is "at most" so much is not rounded down: four digits, the last one up.
function upwards(value) {
  if (!Number.isFinite(value)) return value; // odds beyond what numbers hold are shown as infinite
  const step = 10 ** (Math.floor(Math.log10(value)) - 3);
  return Math.ceil(value / step) * step;
}

function budget(words, { charge, remaining }, { total }) {
  if (charge === 0) return words.say("cost.free");
  return words.say("cost.left", { remaining, total, after: Math.max(remaining - charge, 0) });
}

function limitsForm(words, limits, change, open = false) {
  const field = (name) => {
    const parts = { type: "number", min: "0", step: "any", value: String(limits[name]), autocomplete: "off", name };
    return make("label", { class: "field" }, words.say(`limits.${name}`), make("input", parts));
  };
  const wrong = make("p", { class: "alert", role: "alert" });
  const submit = (event) => {
    event.preventDefault();
    const { question, total } = event.target.elements;
    const wanted = { question: question.valueAsNumber, total: total.valueAsNumber };
    if (Object.values(wanted).every(isLimit)) change(wanted);
    else wrong.textContent = words.say("limits.wrong");
  };
  return make(
    "details",
    { open },
    make("summary", {}, words.say("limits.heading")),
    quiet(words.say("limits.why")),
    make(
      "form",
      { autocomplete: "off", novalidate: true, submit },
      field("question"),
      field("total"),
      wrong,
      make("button", {}, words.say("button.limits")),
    ),
  );
}

/** One attribute. `chosen` is its level, null for none of them, or undefined. */
export function ask({ words, question, ask, number, count, chosen }, { choose, next, back, refuse }) {
  const missing = make("p", { class: "alert", role: "alert" });
  const submit = (event) => {
    event.preventDefault();
    if (next() === false) missing.textContent = words.say("ask.missing");
  };
  const picked = (value) => {
    missing.textContent = "";
    choose(value);
  };
  const fields = ask.levels.length > FEW ? listed : shown;
  return [
    quiet(words.say("ask.progress", { number, count })),
    make(
      "form",
      { autocomplete: "off", novalidate: true, submit },
      make("fieldset", {}, make("legend", {}, heading(ask.attribute)), ...fields(words, ask, chosen, picked)),
      missing,
      quiet(said(question, words)),
      make(
        "div",
        { class: "buttons" },
        make("button", { class: "main" }, words.say("button.next")),
        button(words, "back", back),
        button(words, "refuse", refuse, { class: "refuse" }),
      ),
    ),
  ];
}

// Values of fields are places, not texts: what a browser might remember of a form must not be an answer.
function shown(words, { levels }, chosen, choose) {
  const choice = (value, checked, ...children) => {
    const input = make("input", { type: "radio", name: "level", autocomplete: "off", change: () => choose(value) });
    input.checked = checked;
    return make("label", { class: "choice" }, input, make("span", {}, ...children));
  };
  return [
    ...levels.map((level) => choice(level, chosen === level, level)),
    choice(null, chosen === null, words.say("ask.none"), make("small", {}, words.say("ask.none.note"))),
  ];
}

function listed(words, { attribute, levels }, chosen, choose) {
  const change = ({ target }) => choose([undefined, null, ...levels][target.selectedIndex]);
  const texts = [words.say("ask.choose"), words.say("ask.none"), ...levels];
  const options = texts.map((text) => make("option", {}, text));
  const select = make("select", { "aria-label": attribute, autocomplete: "off", change }, ...options);
  select.selectedIndex = chosen === undefined ? 0 : [null, ...levels].indexOf(chosen) + 1;
  return [select, quiet(words.say("ask.none.note"))];
}

export function review({ words, questions, asks, values, offer, limits }, { send, change, back, refuse }) {
  return [
    heading(words.say("review.heading")),
    make("h2", {}, words.say("review.answers")),
    ...asks.map(({ ask: { attribute } }, place) =>
      make(
        "div",
        { class: "answer" },
        make("span", {}, `${attribute}: `, make("strong", {}, values.get(attribute) ?? words.say("ask.none"))),
        button(words, "change", () => change(place), { "aria-label": `${words.say("button.change")}: ${attribute}` }),
      ),
    ),
    ...terms({ words, questions, offer, limits }),
    make(
      "div",
      { class: "buttons" },
      button(words, "send", send, { class: "main" }),
      button(words, "back", back),
      button(words, "refuse", refuse, { class: "refuse" }),
    ),
  ];
}

/** The report, the receipt, and whether it has arrived. `fresh` right after the draw. */
export function result({ words, id, survey, questions, version, host, mark, fresh }, { copy, save }) {
  const pairs = [
    ["survey", `${survey.title} (${host}/${id})`],
    ["date", survey.receipts[0].date],
    ["loss", survey.receipts.map(({ loss }) => String(loss)).join(" + ")],
    ["report", survey.reports.map(({ report }) => report).join(", ")],
    ...(mark ? [["mark", spaced(mark)]] : []),
    ["page", version],
  ];
  return [
    heading(words.say("result.heading")),
    ...(fresh ? [toss(words, questions)] : []),
    make(
      "div",
      { role: "status" },
      ...questions.map((question, i) =>
        make("p", { class: "report" }, sent(question, survey.reports[i].answer, words)),
      ),
      make("p", { id: "state" }, words.say(`result.${fresh ? "sending" : survey.state}`)),
    ),
    quiet(words.say("sent.note")),
    make("h2", {}, words.say("receipt.heading")),
    make(
      "dl",
      { class: "pairs" },
      ...pairs.flatMap(([key, text]) => [make("dt", {}, words.say(`receipt.${key}`)), make("dd", {}, text)]),
    ),
    make("div", { class: "buttons" }, button(words, "copy", copy), button(words, "save", save)),
    make("p", { id: "copied", role: "status" }),
    make(
      "details",
      {},
      make("summary", {}, words.say("receipt.check")),
      make("p", {}, words.say("receipt.check.how")),
      make("pre", { tabindex: "0" }, JSON.stringify({ reports: survey.reports }, null, 1)),
    ),
  ];
}

// An illustration, and it says so: the client tells nobody how the coin fell, so there is nothing truer to show.
function toss(words, questions) {
  const figures = questions.map((question) => {
    const { own, text } = bowl(question, words);
    const balls = Array.from({ length: 100 }, (_, i) => make("div", { class: i < own ? "ball own" : "ball" }));
    return make(
      "figure",
      { class: "tossed" },
      make("div", { class: "bowl", role: "img", "aria-label": text }, ...balls),
      make("figcaption", { class: "quiet" }, text),
    );
  });
  return make("section", {}, ...figures, quiet(words.say("toss.illustration")));
}

export function refused({ words }, { again }) {
  return [
    heading(words.say("refused.heading")),
    make("p", {}, words.say("refused.text")),
    make("div", { class: "buttons" }, button(words, "again", again)),
  ];
}

const MENDED_BY_LIMITS = ["budget", "limit"];
const MENDED_BY_TIME = ["away", "closed", "storage", "fault"];

export function problem({ words, kind, reason, next, limits }, { retry, changeLimits }) {
  return [
    heading(words.say(`problem.${kind}.heading`)),
    make("p", {}, words.say(`problem.${kind}.text`, { reason })),
    kind === "turn" ? make("p", {}, next ? words.say("turn.next", { next }) : words.say("turn.none")) : null,
    MENDED_BY_LIMITS.includes(kind) ? limitsForm(words, limits, changeLimits, true) : null,
    MENDED_BY_TIME.includes(kind) ? make("div", { class: "buttons" }, button(words, "retry", retry)) : null,
  ].filter((element) => element !== null);
}
