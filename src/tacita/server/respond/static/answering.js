// From questions to reports. The device randomises; what it gives is kept before it is sent.

import { blind, digest, fingerprint, prepare, tokenOf, verify } from "./client/index.js";
import { checkText } from "./client/text.js";
import { Problem } from "./sending.js";

/**
 * The survey as this device answers it. The questions that were seen first stay: each visit is given others by lot, and
 * who comes twice must not pay twice.
 */
export async function openSurvey(keeping, id, fetchSheet) {
  const known = keeping.survey(id);
  if (known?.reports) return known;
  let sheet;
  try {
    sheet = await fetchSheet(id);
  } catch (problem) {
    if (known && problem.kind === "away") return known;
    throw problem;
  }
  await checkSheet(sheet); // what cannot be answered is not kept either
  return alone(id, async () => {
    const kept = keeping.survey(id); // another tab may have been first
    if (!kept) keeping.keep(id, sheet);
    else if (!kept.reports) await checkUnchanged(kept.questions, sheet.questions);
    return kept ?? sheet;
  });
}

// What is shown must be what it is, and the questions must be among those that the fingerprint is of.
async function checkSheet({ title, questions, digests }) {
  checkText(title, "title");
  const marks = await Promise.all(questions.map((question) => digest(verify(question))));
  const listed = Array.isArray(digests) && digests.every((mark) => typeof mark === "string");
  if (!listed || !marks.every((mark) => digests.includes(mark))) throw new Problem("changed");
}

/** What respondents of one survey can compare, so that none is given questions or a key of their own. */
export const fingerprintOf = ({ title, digests }) => (digests ? fingerprint(title, digests) : "");

/**
 * The survey with its token, in an invited campaign: the code is traded for it once. What is needed to open the
 * signature is kept before the code is sent, so that an answer that was lost can be asked for again.
 */
export async function withToken(keeping, id, survey, code, redeem) {
  const { key } = survey.questions[0];
  if (key === undefined || survey.token || survey.reports) return survey;
  if (!code) throw new Problem("code");
  return alone(id, async () => {
    const kept = keeping.survey(id) ?? survey;
    if (kept.token || kept.reports) return kept;
    const pending = kept.pending ?? (await blind(prepare(), key));
    keeping.keep(id, { ...kept, pending });
    const token = tokenOf(pending, await redeem(id, code, pending.sent));
    const { pending: _, ...bought } = { ...kept, token };
    keeping.keep(id, bought);
    return bought;
  });
}

/** Tabs of one origin change what is kept of a survey one after the other. */
function alone(id, work) {
  return globalThis.navigator?.locks ? navigator.locks.request(`tacita:survey:${id}`, work) : work();
}

async function checkUnchanged(before, now) {
  const mark = async (question) => digest(verify(question));
  for (const question of now) {
    const same = before.find((other) => other.question === question?.question);
    if (same && (await mark(same)) !== (await mark(question))) throw new Problem("changed");
  }
}

/** Draw the reports and keep them; from here on they wait to be sent. */
export async function answerSurvey(device, keeping, id, survey, values) {
  return alone(id, async () => {
    const kept = keeping.survey(id);
    if (kept?.reports) return kept; // another tab has answered
    const drawn = await device.answerSheet(survey.questions, values, { token: survey.token });
    const [reports, receipts] = [drawn.map(({ report }) => report), drawn.map(({ receipt }) => receipt)];
    const answered = { ...survey, reports, receipts, state: "waiting" };
    keeping.keep(id, answered);
    return answered;
  });
}
