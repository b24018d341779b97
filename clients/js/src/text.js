// Texts that a person decides by: a screen must show what they are. The rules are those of docs/reference/wire.md.

import { refuseUnless } from "./refused.js";

const LONGEST = 200;
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]/u; // shows nothing, or reorders what is shown
// What is left of Unicode's default ignorables: letters and marks without a picture of their own.
const INVISIBLE =
  /[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/gu;

export function checkText(value, field) {
  const good = typeof value === "string" && [...value].length <= LONGEST && !HIDDEN.test(value) && seen(value) !== "";
  refuseUnless(good, "text", field, `must be 1 to ${LONGEST} characters that a screen shows as they are`);
}

/** What a person sees: compatible forms as one, without what has no picture; case counts. */
export function seen(text) {
  const shown = text.replace(INVISIBLE, "").normalize("NFKC");
  return shown.replace(/ +/g, " ").replace(/^ | $/g, "");
}

/** Whether no two texts look the same. */
export function allDiffer(texts) {
  return new Set(texts.map(seen)).size === texts.length;
}
