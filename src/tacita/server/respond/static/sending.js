// All that goes over the network once the page is there: questions in, reports out.

const JSON_HEADERS = { "Content-Type": "application/json" };
const OPTIONS = { credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer", redirect: "error" };

// The standalone page names its aggregator; the one that an aggregator serves asks that one.
const SERVICE = globalThis.document?.documentElement.dataset.aggregator ?? "";

/** The page cannot go on; `kind` is one of the problems that the words know. */
export class Problem extends Error {
  constructor(kind) {
    super(kind);
    this.kind = kind;
  }
}

/** Title and questions of a survey, for this respondent. */
export async function fetchSheet(id) {
  const answer = await reach(`/v1/campaigns/${encodeURIComponent(id)}/questions`);
  if (answer.status === 404) throw new Problem("unknown");
  if (answer.status === 409) throw new Problem("closed");
  const sheet = answer.ok ? await answer.json().catch(() => null) : null;
  if (!Array.isArray(sheet?.questions)) throw new Problem("away");
  return { title: String(sheet.title), questions: sheet.questions, digests: sheet.digests };
}

/** Trade a code for the signature of a blinded message. */
export async function redeem(id, code, blinded) {
  const request = { method: "POST", headers: JSON_HEADERS, body: JSON.stringify({ code, blinded }) };
  const answer = await reach(`/v1/campaigns/${encodeURIComponent(id)}/invitations/redeem`, request);
  const found = await answer.json().catch(() => ({}));
  if (answer.ok) return found.signature;
  if (answer.status === 403 || answer.status === 422) throw new Problem("code");
  if (answer.status === 409) throw new Problem(found.field === "code" ? "used" : "closed");
  throw new Problem(answer.status === 404 ? "unknown" : "away");
}

/**
 * Send all reports that wait, of whatever survey. A report may be sent again at any time: it counts once, by its number.
 *
 * @param {Keeping} keeping
 * @returns {Promise<number>} how many surveys still wait
 */
export async function sendWaiting(keeping) {
  const work = async () => {
    for (const id of keeping.waiting()) {
      const state = await sendReports(id, keeping.survey(id).reports);
      if (state !== "waiting") keeping.keep(id, { ...keeping.survey(id), state });
    }
    return keeping.waiting().length;
  };
  // Two tabs would send the same; harmless, but one will do.
  return globalThis.navigator?.locks ? navigator.locks.request("tacita:outbox", work) : work();
}

/** What became of reports: sent, waiting, or the reason why they will never count. */
async function sendReports(id, reports) {
  const request = { method: "POST", headers: JSON_HEADERS, body: JSON.stringify({ reports }) };
  let answer;
  try {
    answer = await reach(`/v1/campaigns/${encodeURIComponent(id)}/reports`, request);
  } catch {
    return "waiting";
  }
  if (answer.ok) return "sent";
  const problem = await answer.json().catch(() => ({}));
  if (answer.status === 409) return problem.field === "report" ? "sent" : "closed"; // it had counted before
  if (answer.status === 404 && problem.field === "campaign") return "gone";
  return answer.status === 422 ? "refused" : "waiting"; // too many at once, or a fault of the service: later
}

async function reach(path, request = {}) {
  try {
    return await fetch(SERVICE + path, { ...OPTIONS, ...request });
  } catch {
    throw new Problem("away");
  }
}
