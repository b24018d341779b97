// The respondent's page, from the first look to the receipt. The true answers are in `values`, in memory, and nowhere
// else; they are dropped when the reports are drawn, when the respondent refuses, and when the page is left.

import { Device, Refused, verify } from "./client/index.js";
import { answerSurvey, fingerprintOf, openSurvey, withToken } from "./answering.js";
import { make } from "./elements.js";
import { Keeping } from "./keeping.js";
import { Problem, fetchSheet, redeem, sendWaiting } from "./sending.js";
import * as steps from "./steps.js";
import { loadWords, pick } from "./words.js";

// The standalone page, of another host, names the aggregator; the one that an aggregator serves is its own.
const { version, languages, aggregator } = document.documentElement.dataset;
const service = aggregator ?? location.origin;
const { host } = new URL(service);
const asked = aggregator ? (new URLSearchParams(location.search).get("survey") ?? "") : location.pathname.slice(1);
const id = decodeURIComponent(asked);
let code = location.hash.slice(1); // of an invited survey; what follows the # is not sent when the page is fetched
const main = document.getElementById("step");
const SOON = 3000; // milliseconds until reports that wait are tried again, doubled each time
const LATEST = 20000;

const values = new Map(); // attribute: its true level, or null for none of them
let keeping = null; // what the device keeps, once it is known that it can
let words = null;
let survey, questions, asks, offer, mark;
let current = () => {}; // shows the step again, in another language

// -- showing ----------------------------------------------------------------------------------------------------------

function show(draw) {
  current = () => {
    main.replaceChildren(...draw());
    document.title = main.querySelector("h1").textContent;
    main.querySelector("h1").focus({ preventScroll: true });
    scrollTo(0, 0);
  };
  current();
}

const shared = () => ({ words, survey, questions, asks, offer, mark, host, id, version, limits: keeping?.limits });

function showProblem(error) {
  const kind = kindOf(error);
  const [reason, next] = [error.reason ?? "", error.next ?? null];
  show(() => steps.problem({ ...shared(), kind, reason, next }, { retry: begin, changeLimits }));
}

const KINDS = {
  "campaign-answered": "answered",
  "budget-spent": "budget",
  "loss-over-question-limit": "limit",
  "question-changed": "changed",
  "series-changed": "changed",
  "not-your-turn": "turn",
  "ledger-corrupt": "corrupt",
  "ledger-unavailable": "storage",
};

function kindOf(error) {
  if (error instanceof Problem) return error.kind;
  return error instanceof Refused ? (KINDS[error.reason] ?? "unfit") : "fault";
}

/** Do it, and say what went wrong in plain words. */
const careful = (work) => async (...given) => {
  try {
    await work(...given);
  } catch (error) {
    values.clear();
    showProblem(error);
  }
};

// -- the way through --------------------------------------------------------------------------------------------------

const begin = careful(async () => {
  checkBrowser();
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(id)) throw new Problem("unknown");
  survey = await openSurvey(keeping, id, fetchSheet);
  mark = await fingerprintOf(survey);
  questions = survey.questions.map(verify);
  asks = questions.flatMap((question) => question.asks.map((ask) => ({ question, ask })));
  if (survey.reports) {
    showResult(false);
    return;
  }
  offer = await device().reviewSheet(survey.questions);
  // long before the report, so that the two are not linked by their time
  survey = await withToken(keeping, id, survey, code, redeem);
  if (code) history.replaceState(null, "", location.pathname + location.search);
  code = "";
  history.replaceState({ place: 0 }, "");
  showPlace(0);
});

function checkBrowser() {
  if (!isSecureContext) throw new Problem("insecure");
  if (!navigator.locks || !crypto.subtle) throw new Problem("browser");
  keeping ??= openStorage();
  if (keeping === null) throw new Problem("storage");
}

function openStorage() {
  try {
    localStorage.getItem("tacita"); // throws where it is blocked
    return new Keeping(localStorage, aggregator);
  } catch {
    return null;
  }
}

function device() {
  const { question, total } = keeping.limits;
  const limits = { limitQuestionEpsilon: question, limitTotalEpsilon: total };
  return new Device({ service, storage: localStorage, ...limits });
}

/** The step at a place: the welcome, each attribute, the review. The browser's own way back goes through them too. */
function go(place) {
  history.pushState({ place }, "");
  showPlace(place);
}

function showPlace(place) {
  const back = () => history.back();
  if (place === 0) {
    show(() => steps.welcome(shared(), { begin: () => go(1), refuse, changeLimits }));
  } else if (place <= asks.length) {
    showAsk(place, { back, refuse });
  } else {
    const change = (number) => go(number + 1);
    show(() => steps.review({ ...shared(), values }, { send, change, back, refuse }));
  }
}

function showAsk(place, ways) {
  const { question, ask } = asks[place - 1];
  const { attribute } = ask;
  const choose = (level) => (level === undefined ? values.delete(attribute) : values.set(attribute, level));
  const complete = () => asks.every((other) => values.has(other.ask.attribute));
  const next = () => values.has(attribute) && go(complete() ? asks.length + 1 : place + 1);
  const parts = { question, ask, number: place, count: asks.length };
  show(() => steps.ask({ ...parts, words, chosen: values.get(attribute) }, { choose, next, ...ways }));
}

addEventListener("popstate", ({ state }) => {
  if (survey?.reports || !asks) return;
  const place = state?.place ?? 0;
  const answered = asks.findIndex(({ ask }) => !values.has(ask.attribute));
  // who comes back to a later place without the answers begins where the first is missing
  showPlace(answered >= 0 && place > answered + 1 ? answered + 1 : place);
});

const send = careful(async () => {
  const answers = Object.fromEntries(values);
  values.clear();
  survey = await answerSurvey(device(), keeping, id, survey, answers);
  showResult(true);
});

function refuse() {
  values.clear();
  show(() => steps.refused(shared(), { again: begin }));
}

const changeLimits = careful(async (limits) => {
  keeping.limits = limits;
  await begin();
});

// -- the receipt, and getting the report through ----------------------------------------------------------------------

function showResult(fresh) {
  let first = fresh;
  show(() => {
    const drawn = steps.result({ ...shared(), fresh: first }, { copy, save });
    first = false;
    return drawn;
  });
  if (survey.state === "waiting") deliver();
}

let timer = null;

/** Try until nothing waits: at once, when the network is back, and after longer and longer pauses. */
async function deliver(pause = SOON) {
  clearTimeout(timer);
  const left = await sendWaiting(keeping);
  if (survey?.reports) {
    survey = keeping.survey(id) ?? survey;
    const state = document.getElementById("state");
    if (state) state.textContent = words.say(`result.${survey.state}`);
  }
  if (left) timer = setTimeout(() => deliver(Math.min(2 * pause, LATEST)), pause);
}

addEventListener("online", () => keeping && deliver());

function receiptText() {
  const { title, receipts, reports } = survey;
  return JSON.stringify({ survey: title, host, fingerprint: mark, page: version, receipts, reports }, null, 2);
}

async function copy() {
  await navigator.clipboard.writeText(receiptText());
  document.getElementById("copied").textContent = words.say("receipt.copied");
}

function save() {
  const address = URL.createObjectURL(new Blob([receiptText()], { type: "application/json" }));
  make("a", { href: address, download: `${words.say("receipt.file")}-${id}.json` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 0);
}

// -- language, forgetting, offline ------------------------------------------------------------------------------------

async function speak(language) {
  words = await loadWords(language);
  document.documentElement.lang = language;
  const menu = document.getElementById("language");
  const option = (known) => make("option", { value: known, lang: known }, nameOf(known));
  menu.replaceChildren(...languages.split(" ").map(option));
  menu.value = language;
  menu.setAttribute("aria-label", words.say("menu.language"));
}

function nameOf(language) {
  const name = new Intl.DisplayNames(language, { type: "language" }).of(language);
  return name[0].toLocaleUpperCase(language) + name.slice(1);
}

document.getElementById("language").addEventListener("change", async ({ target }) => {
  await speak(target.value);
  if (keeping) keeping.language = target.value;
  current();
});

addEventListener("pagehide", () => values.clear());
// a page that the browser has kept as it was left, chosen answers and all, begins anew
addEventListener("pageshow", ({ persisted }) => persisted && begin());

async function start() {
  keeping = openStorage();
  const known = languages.split(" ");
  const wanted = [keeping?.language, ...navigator.languages].filter((language) => language);
  await speak(pick(wanted, known));
  main.replaceChildren(steps.heading(words.say("loading")));
  await begin();
  if (keeping?.waiting().length) deliver(); // of other surveys too
  // without a worker the page works as well, but only with a network; the standalone page has none
  if (aggregator) return;
  const worker = new URL("worker.js", import.meta.url);
  await navigator.serviceWorker?.register(worker, { scope: `/${id}` }).catch(() => {});
}

await start();
