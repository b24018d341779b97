// What the page keeps on the device, beside the client's ledger: language, limits, and for each survey the questions
// that were seen first and the reports that were drawn. A true answer is never among it.

const PREFIX = "tacita-survey:";

/** Low enough to mean something, high enough for a few surveys. */
export const USUAL_LIMITS = Object.freeze({ question: 2, total: 4 });

export class Keeping {
  #storage;
  #prefix;

  /** Surveys of another service than the one that serves the page are kept under its origin. */
  constructor(storage, service = "") {
    this.#storage = storage;
    this.#prefix = service ? `${PREFIX}${service} ` : PREFIX;
  }

  get limits() {
    const kept = this.#read("tacita-limits");
    return kept !== null && [kept.question, kept.total].every(isLimit) ? kept : { ...USUAL_LIMITS };
  }

  set limits({ question, total }) {
    this.#write("tacita-limits", { question, total });
  }

  get language() {
    return this.#read("tacita-language");
  }

  set language(language) {
    this.#write("tacita-language", language);
  }

  /** What is known of a survey: title, questions, and once it is answered reports, receipts, state. */
  survey(id) {
    const kept = this.#read(this.#prefix + id);
    return isSurvey(kept) ? kept : null;
  }

  keep(id, survey) {
    this.#write(this.#prefix + id, survey);
  }

  /** The surveys whose reports have not arrived yet. */
  waiting() {
    const keys = Array.from({ length: this.#storage.length }, (_, i) => this.#storage.key(i));
    const mine = keys.filter((key) => key.startsWith(this.#prefix)).map((key) => key.slice(this.#prefix.length));
    return mine.filter((id) => !id.includes(" ") && this.survey(id)?.state === "waiting");
  }

  #read(key) {
    try {
      return JSON.parse(this.#storage.getItem(key));
    } catch {
      return null; // damaged: asked for again. What was spent and drawn is in the ledger
    }
  }

  #write(key, value) {
    this.#storage.setItem(key, JSON.stringify(value));
  }
}

// What is not whole is as good as damaged.
function isSurvey(kept) {
  if (typeof kept !== "object" || kept === null || typeof kept.title !== "string") return false;
  if (!Array.isArray(kept.questions) || kept.questions.length === 0) return false;
  const lists = [kept.reports, kept.receipts];
  return lists.every((list) => list === undefined || (Array.isArray(list) && list.length === kept.questions.length));
}

export function isLimit(value) {
  return Number.isFinite(value) && value > 0;
}
