// A respondent's device that trusts nobody. It reads the loss off the weights it was sent, refuses what breaks its
// owner's limits, charges its own ledger before it draws, and keeps the one report it ever gives to a question.
// The true value and the coin are stored nowhere and sent nowhere.

import { draw, hex, lossUpper, odds, sha256, systemBytes, systemWord } from "./channel.js";
import { Refused, SLACK, WIRE, digest, verify } from "./question.js";

const FORMAT = 1;
const ENTRY = { campaign: "string", question: "string", attribute: "string", digest: "string", date: "string" };

export class Device {
  #storage;
  #key;
  #limits;
  #last = Promise.resolve();

  /**
   * @param {object} options
   * @param {{getItem: Function, setItem: Function}} options.storage such as localStorage; may be asynchronous
   * @param {number} options.limitTotalEpsilon the most that all answers together may lose
   * @param {number} options.limitQuestionEpsilon the most that one answer may lose
   * @param {string} [options.key] where in the storage the ledger lies
   */
  constructor({ storage, limitTotalEpsilon, limitQuestionEpsilon, key = "tacita-ledger" }) {
    for (const limit of [limitTotalEpsilon, limitQuestionEpsilon]) {
      if (!(Number.isFinite(limit) && limit > 0)) throw new RangeError("a limit must be positive and finite");
    }
    this.#storage = storage;
    this.#key = key;
    this.#limits = { total: limitTotalEpsilon, question: limitQuestionEpsilon };
  }

  /** What would leave the device and at what cost; sends, draws and charges nothing. */
  async review(data) {
    const question = verify(data);
    const mark = await digest(question);
    return this.#locked(async () => {
      const entries = await this.#load();
      const known = find(entries, question, mark);
      if (!known) this.#checkLimits(question, entries);
      return offer(question, this.#limits.total - spent(entries), known);
    });
  }

  /**
   * Randomise the true value, at most once for a question. The charge is stored before anything is drawn, and the
   * report before it is returned; asked again, the very same report comes back without a charge.
   *
   * @param {unknown} data a parsed question, or its JSON text
   * @param {string} value the true level
   * @returns {Promise<{report: object, receipt: object}>}
   * @throws {Refused}
   */
  async answer(data, value) {
    const question = verify(data);
    const truth = typeof value === "string" ? question.levels.indexOf(value) : -1;
    // The message must not carry the value: it is the respondent's own.
    if (truth < 0) throw new Refused("value", "value", "must be one of the levels of the question");
    const mark = await digest(question);
    return this.#locked(async () => {
      const entries = await this.#load();
      let entry = find(entries, question, mark);
      if (!entry) {
        this.#checkLimits(question, entries);
        entry = charge(question, mark);
        entries.push(entry);
        await this.#save(entries);
      }
      if (entry.report === null) {
        entry.answer = draw(question.keep, question.fake, truth, systemWord).answer;
        entry.report = hex(systemBytes(16));
        await this.#save(entries);
      }
      return { report: report(entry), receipt: receipt(question, entry) };
    });
  }

  /** What is left of the device's budget. */
  async remaining() {
    return this.#locked(async () => this.#limits.total - spent(await this.#load()));
  }

  #checkLimits(question, entries) {
    const wanted = lossUpper(question.keep, question.fake);
    if (wanted > this.#limits.question * SLACK) {
      const rule = `one answer may lose at most ${this.#limits.question}, this one loses ${wanted}`;
      throw new Refused("loss-over-question-limit", "limitQuestionEpsilon", rule);
    }
    const gone = spent(entries);
    if (gone + wanted > this.#limits.total * SLACK) {
      const rule = `requested ${wanted}, remaining ${this.#limits.total - gone} of ${this.#limits.total}`;
      throw new Refused("budget-spent", "limitTotalEpsilon", rule);
    }
  }

  // Two tabs share one storage: the browser's locks keep both from spending the last. Without them (Node, old
  // browsers) only the calls of this device wait for each other.
  async #locked(work) {
    const locks = globalThis.navigator?.locks;
    const turn = this.#last.then(() => (locks ? locks.request(`tacita:${this.#key}`, work) : work()));
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #load() {
    const text = await this.#storage.getItem(this.#key);
    if (text === null || text === undefined) return [];
    try {
      const { ledger, check, entries } = JSON.parse(text);
      const whole = ledger === FORMAT && Array.isArray(entries) && entries.every(wellFormed);
      if (whole && check === (await sha256(JSON.stringify(entries)))) return entries;
    } catch {
      // falls through: what cannot be read is damaged
    }
    const rule = "must be a whole ledger of this device; it is not reset, because that would forget what was spent";
    throw new Refused("ledger-corrupt", "storage", rule);
  }

  async #save(entries) {
    const check = await sha256(JSON.stringify(entries));
    await this.#storage.setItem(this.#key, JSON.stringify({ ledger: FORMAT, check, entries }));
  }
}

function wellFormed(entry) {
  const texts = Object.entries(ENTRY).every(([name, type]) => typeof entry[name] === type);
  const drawn = entry.report === null ? entry.answer === null : Number.isSafeInteger(entry.answer);
  return texts && drawn && Number.isFinite(entry.loss) && entry.loss >= 0;
}

function find(entries, question, mark) {
  const same = (entry) => entry.campaign === question.campaign && entry.question === question.question;
  const entry = entries.find(same);
  if (entry && entry.digest !== mark) {
    const rule = "was asked before with other content, and may not change";
    throw new Refused("question-changed", "question", rule);
  }
  return entry;
}

function spent(entries) {
  return entries.reduce((sum, entry) => sum + entry.loss, 0);
}

function charge({ campaign, question, attribute, keep, fake }, mark) {
  const date = new Date().toISOString().slice(0, 10);
  const loss = lossUpper(keep, fake);
  return { campaign, question, attribute, digest: mark, loss, date, report: null, answer: null };
}

function report({ campaign, question, report: id, answer }) {
  return { wire: WIRE, campaign, question, report: id, answer };
}

function receipt(question, entry) {
  return Object.freeze({ ...entry, level: question.levels[entry.answer] });
}

function offer(question, remaining, known) {
  const { campaign, question: name, attribute, levels, keep, fake, total } = question;
  const loss = lossUpper(keep, fake);
  const parts = { loss, charge: known ? 0 : loss, kept: keep / total, odds: odds(keep, fake), remaining };
  const statement = words(question, parts);
  return Object.freeze({ campaign, question: name, attribute, levels, ...parts, statement });
}

function words({ campaign, attribute, levels }, { loss, charge, kept, odds: factor, remaining }) {
  const short = (number) => String(Number(number.toPrecision(4)));
  const left = short(Math.max(remaining - charge, 0));
  const cost = charge
    ? `Your device has ${short(remaining)} of its budget left; after this answer, ${left}.`
    : "Answering it costs nothing more: it is charged already, and only one report is ever given.";
  return [
    `The campaign '${campaign}' asks for '${attribute}' (${levels.length} possible answers).`,
    "One of these answers and a random number leave this device.",
    `With probability ${short(kept)} it is your own; otherwise it is drawn by chance,`,
    "and nobody who sees it can tell which.",
    "Whatever is sent, it changes the odds between any two answers you may have",
    `by a factor of ${short(factor)} at most (epsilon ${short(loss)}).`,
    cost,
  ].join(" ");
}
