// A respondent's device that trusts nobody. It reads the loss off the integers it was sent, refuses what breaks its
// owner's limits, charges its own ledger before it draws, and keeps the one report it ever gives to a question. In a
// series of waves it answers in those only that it has drawn by lot.
// The true value and the coin are stored nowhere and sent nowhere.

import { isToken, reportId } from "./blind.js";
import { Words } from "./draw.js";
import { charged, find, hasAnswered, load, ofSeries, save, spent } from "./ledger.js";
import { SLACK, WIRE, cellOf, content, digest, isOrigin, levelsOf, shardOf, verify } from "./question.js";
import { Refused, isObject, refuseUnless } from "./refused.js";
import { checkTerms, checkTurn, drawLot, sameSeries } from "./series.js";
import { offer, sheetOffer } from "./statement.js";
import { hex, systemBytes, systemWord } from "./system.js";
import { allDiffer } from "./text.js";

export class Device {
  #service;
  #storage;
  #key;
  #limits;

  /**
   * @param {object} options
   * @param {string} options.service the origin of the service that asks: scheme, host and port. Devices that
   *   face several services share a ledger: the limits hold for all of them together, and no service learns from a
   *   report what another has asked.
   * @param {{getItem: Function, setItem: Function, lock?: Function}} options.storage such as localStorage; may be
   *   asynchronous. `lock(work)` runs work alone among all that use the same storage, in any process, and gives its
   *   result. A browser's own locks do where there is none; elsewhere it is needed (`../node/file-storage.js`).
   * @param {number} options.limitTotalEpsilon the most that all answers together may lose
   * @param {number} options.limitQuestionEpsilon the most that one answer may lose
   * @param {string} [options.key] where in the storage the ledger lies
   */
  constructor({ service, storage, limitTotalEpsilon, limitQuestionEpsilon, key = "tacita-ledger" }) {
    for (const limit of [limitTotalEpsilon, limitQuestionEpsilon]) {
      if (!(Number.isFinite(limit) && limit > 0)) throw new RangeError("a limit must be positive and finite");
    }
    this.#service = String(service).toLowerCase().replace(/\/+$/, "");
    if (!isOrigin(this.#service)) throw new RangeError("a service must be an origin: scheme, host and port");
    this.#storage = storage;
    this.#key = key;
    this.#limits = { total: limitTotalEpsilon, question: limitQuestionEpsilon };
  }

  /**
   * What would leave the device and at what cost; sends and charges nothing, and draws no answer. For the first
   * question of a series the waves in which this device answers are drawn and stored.
   */
  async review(data) {
    return (await this.#review(this.#addressed([verify(data)])))[0];
  }

  /** What answering several questions of one campaign together would mean, as `review` does for one. */
  async reviewSheet(list) {
    return sheetOffer(await this.#review(this.#addressed(verifySheet(list))));
  }

  /**
   * Randomise the true value, at most once for a question. The charge is stored before anything is drawn, and the
   * report before it is returned; asked again, the very same report comes back without a charge.
   *
   * @param {unknown} data a parsed question, or its JSON text
   * @param {string | object | null} value the true level of each attribute that is asked, or the level where one is
   *   asked; null, for an attribute or for all, says that the respondent has none: the answer is then pure chance
   * @param {{token?: string}} [options] in an invited campaign, the token that was signed for the respondent's code
   * @returns {Promise<{report: object, receipt: object}>}
   * @throws {Refused}
   */
  async answer(data, value, { token } = {}) {
    return (await this.#answer(this.#addressed([verify(data)]), value, token))[0];
  }

  /**
   * Randomise the true values for several questions of one campaign together: all are charged before the first is
   * drawn, or none.
   *
   * @param {unknown[]} list questions as in `answer`, that ask for no attribute twice
   * @param {object} values the true level of each attribute that any of them asks
   * @param {{token?: string}} [options] as in `answer`; one token for the whole sheet
   * @returns {Promise<{report: object, receipt: object}[]>} for each question in turn
   * @throws {Refused}
   */
  async answerSheet(list, values, { token } = {}) {
    return this.#answer(this.#addressed(verifySheet(list)), isObject(values) ? values : undefined, token);
  }

  /** What is left of the device's budget. */
  async remaining() {
    return this.#locked(async () => this.#limits.total - spent((await load(this.#storage, this.#key)).entries));
  }

  /** The questions, after checking that the service which asks is one of their aggregators. */
  #addressed(questions) {
    const named = questions.every(({ aggregators }) => aggregators?.includes(this.#service) ?? true);
    const rule = "must name the service that asks among its aggregators";
    refuseUnless(named, "other-aggregator", "aggregators", rule);
    return questions;
  }

  /** Who asks, as the ledger knows it: aggregators that share a campaign are one. */
  #asker({ aggregators }) {
    return aggregators ? aggregators.join(" ") : this.#service;
  }

  async #review(questions) {
    const marks = await Promise.all(questions.map(digest));
    return this.#locked(async () => {
      const book = await load(this.#storage, this.#key);
      const { entries } = book;
      const known = questions.map((question, i) => find(entries, question, this.#asker(question), marks[i]));
      await this.#checkNew(questions.filter((_, i) => !known[i]), book);
      let remaining = this.#limits.total - spent(entries);
      return questions.map((question, i) => {
        const made = offer(question, remaining, known[i]);
        remaining -= made.charge;
        return made;
      });
    });
  }

  async #answer(questions, value, token) {
    const truths = questions.map((question) => cellOf(question, value));
    const marks = await Promise.all(questions.map(digest));
    return this.#locked(async () => {
      const book = await load(this.#storage, this.#key);
      const { entries } = book;
      const known = questions.map((question, i) => find(entries, question, this.#asker(question), marks[i]));
      await this.#checkNew(questions.filter((_, i) => !known[i]), book);
      await checkToken(questions.filter((_, i) => !known[i]?.report), token);
      const charge = (question, i) => known[i] ?? charged(question, this.#asker(question), marks[i]);
      const mine = await Promise.all(questions.map(charge));
      entries.push(...mine.filter((_, i) => !known[i]));
      if (known.includes(undefined)) await save(this.#storage, this.#key, book);
      const open = mine.filter((entry) => entry.report === null);
      for (const [i, entry] of mine.entries()) {
        if (entry.report !== null) continue;
        const named = questions[i].key === null ? {} : { token, report: await reportId(token, i) };
        drawInto(entry, questions[i], truths[i], this.#service, named);
      }
      if (open.length) await save(this.#storage, this.#key, book);
      return mine.map((entry, i) => ({ report: report(entry), receipt: receipt(questions[i], entry, this.#service) }));
    });
  }

  // Questions that are not charged yet: one sheet of a campaign is ever answered, within the limits.
  async #checkNew(questions, book) {
    const { entries } = book;
    const again = questions.some((question) => hasAnswered(entries, question, this.#asker(question)));
    const whole = "must be the questions that this device has answered for the campaign";
    refuseUnless(!again, "campaign-answered", "campaign", whole);
    if (questions.length && questions[0].series) await this.#checkWave(questions, questions[0].series, book);
    const charges = questions.map(({ channel, cells }) => channel.lossUpper(cells));
    for (const charge of charges) {
      const rule = `one answer may lose at most ${this.#limits.question}, this one loses ${charge}`;
      const fits = charge <= this.#limits.question * SLACK;
      refuseUnless(fits, "loss-over-question-limit", "limitQuestionEpsilon", rule);
    }
    const [gone, wanted] = [spent(entries), charges.reduce((sum, charge) => sum + charge, 0)];
    if (questions.length && gone + wanted > this.#limits.total * SLACK) {
      const rule = `requested ${wanted}, remaining ${this.#limits.total - gone} of ${this.#limits.total}`;
      throw new Refused("budget-spent", "limitTotalEpsilon", rule);
    }
  }

  // A new sheet of a series: the same questions, once for each wave, by the lot, within the promise of the series.
  async #checkWave(questions, series, book) {
    const asker = this.#asker(questions[0]);
    const { lot, charges } = ofSeries(book, series, asker);
    checkTerms(lot, series);
    for (const verified of questions) {
      const before = charges.find((entry) => entry.question === verified.question);
      const same = !before || before.content === (await content(verified));
      refuseUnless(same, "question-changed", "question", "must ask what it asked in an earlier wave of the series");
    }
    const again = charges.some((entry) => entry.wave === series.wave);
    refuseUnless(!again, "campaign-answered", "series.wave", "must be a wave that this device has not answered");
    if (lot) checkTurn(lot, series);
    const wanted = spent(charges) + questions.reduce((sum, { channel, cells }) => sum + channel.lossUpper(cells), 0);
    const rule = `all answers of the series may lose at most ${series.epsilon}, as it promises`;
    refuseUnless(wanted <= series.epsilon * SLACK, "loss-over-series", "series.epsilon", rule);
    if (lot) return;
    book.lots.push(drawLot(series, asker, systemWord));
    await save(this.#storage, this.#key, book);
    checkTurn(book.lots.at(-1), series);
  }

  // Two tabs, two processes, two objects over one file share one ledger: whoever reads it must write it before the
  // next one reads. Locks of a browser hold for all tabs of an origin, those of other programs for one process only.
  async #locked(work) {
    if (typeof this.#storage.lock === "function") return this.#storage.lock(work);
    const browser = globalThis.document ?? globalThis.WorkerGlobalScope;
    const locks = browser && globalThis.navigator?.locks;
    refuseUnless(locks, "ledger-unavailable", "storage", "needs locks: update this browser, or pass a storage with lock");
    return locks.request(`tacita:${this.#key}`, work);
  }
}

/** The questions of a sheet, verified one by one and then as a whole. */
function verifySheet(list) {
  const listed = Array.isArray(list) && list.length > 0;
  refuseUnless(listed, "sheet", "questions", "must be a list of one question or more");
  const questions = [...list].map(verify);
  const one = questions.every(({ campaign }) => campaign === questions[0].campaign);
  refuseUnless(one, "sheet", "questions", "must be questions of one campaign");
  const waves = questions.every(({ series }) => sameSeries(series, questions[0].series));
  refuseUnless(waves, "sheet", "questions", "must be questions of one wave of one series");
  const shared = questions.every(({ aggregators }) => String(aggregators) === String(questions[0].aggregators));
  refuseUnless(shared, "sheet", "questions", "must be questions of the same aggregators");
  const names = questions.flatMap(({ asks }) => asks.map((ask) => ask.attribute));
  refuseUnless(allDiffer(names), "attribute-repeated", "questions", "must ask for each attribute once");
  const identified = new Set(questions.map(({ question }) => question)).size === questions.length;
  refuseUnless(identified, "sheet", "questions", "must be questions of different identifiers");
  return questions;
}

// Refuses a report that the campaign would refuse, before it is charged.
async function checkToken(questions, token) {
  for (const { key } of questions) {
    const good = key === null || (await isToken(token, key));
    refuseUnless(good, "token", "token", "must be signed by the key of the campaign");
  }
}

function drawInto(entry, { channel, cells, aggregators }, truth, service, named) {
  // Who has no such value answers for a cell drawn by a fair die: silence would tell. The die is thrown in either case.
  const die = new Words(systemWord).below(cells);
  entry.answer = channel.draw(cells, truth === null ? die : truth, systemWord).answer;
  entry.report = named.report ?? drawId(aggregators, service);
  if (named.token) entry.token = named.token;
}

/** A random id that belongs to the service which asks. */
function drawId(aggregators, service) {
  for (;;) {
    const id = hex(systemBytes(16));
    if (!aggregators || aggregators[shardOf(id, aggregators.length)] === service) return id;
  }
}

function report({ campaign, question, report: id, answer, token }) {
  return { wire: WIRE, campaign, question, report: id, answer, ...(token ? { token } : {}) };
}

// What was sent may or may not be true, and nothing here tells. Only randomized response sends an answer as such.
function receipt(question, entry, asking) {
  const sent = question.channel.constructor.kind === "rr" ? levelsOf(question, entry.answer) : null;
  // Where the report is sent: to the service that asks, unless another aggregator of the campaign asked first.
  const { aggregators } = question;
  const service = aggregators ? aggregators[shardOf(entry.report, aggregators.length)] : asking;
  const { token, ...rest } = entry; // which is for the report alone
  return Object.freeze({ ...rest, sent, service });
}
