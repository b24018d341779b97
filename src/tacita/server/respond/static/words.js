// What the page says, in the language of its reader. One file for each language, all with the same keys.

export class Words {
  #texts;
  #plural;
  #short;

  constructor(language, texts) {
    this.language = language;
    this.#texts = texts;
    this.#plural = new Intl.PluralRules(language);
    this.#short = new Intl.NumberFormat(language, { maximumSignificantDigits: 4, useGrouping: false });
  }

  /** A text with its places filled: {name} by values.name, numbers to four digits. */
  say(key, values = {}) {
    const filled = (_, name) => (typeof values[name] === "number" ? this.number(values[name]) : values[name]);
    return this.#texts[key].replace(/\{(\w+)\}/g, filled);
  }

  /** The text for so many. */
  count(key, count) {
    const exact = `${key}.${this.#plural.select(count)}`;
    return this.say(exact in this.#texts ? exact : `${key}.other`, { count });
  }

  number(value) {
    return this.#short.format(value);
  }

  /** A probability, also as so many in a hundred where that says something. */
  chance(share) {
    const hundredth = Math.round(100 * share);
    return hundredth > 0 && hundredth < 100 ? this.say("chance", { share, hundredth }) : this.number(share);
  }

  /** Several names as one. */
  all(names) {
    return names.map((name) => this.say("names.quoted", { name })).join(this.#texts["names.and"]);
  }
}

/** The first wanted language that is known, by its first part; English otherwise. */
export function pick(wanted, known) {
  const first = wanted.map((tag) => String(tag).toLowerCase().split("-")[0]);
  return first.find((language) => known.includes(language)) ?? "en";
}

export async function loadWords(language) {
  const answer = await fetch(new URL(`words/${language}.json`, import.meta.url), { credentials: "omit" });
  return new Words(language, await answer.json());
}
