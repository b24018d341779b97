// From questions to reports. The device randomises; what it gives is kept before it is sent.

import { digest, verify } from "./client/index.js";
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
  sheet.questions.forEach(verify); // what cannot be answered is not kept either
  return alone(id, async () => {
    const kept = keeping.survey(id); // another tab may have been first
    if (!kept) keeping.keep(id, sheet);
    else if (!kept.reports) await checkUnchanged(kept.questions, sheet.questions);
    return kept ?? sheet;
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
    const drawn = await device.answerSheet(survey.questions, values);
    const [reports, receipts] = [drawn.map(({ report }) => report), drawn.map(({ receipt }) => receipt)];
    const answered = { ...survey, reports, receipts, state: "waiting" };
    keeping.keep(id, answered);
    return answered;
  });
}
