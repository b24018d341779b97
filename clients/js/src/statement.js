// What a person reads before anything leaves the device.

const short = (number) => String(Number(number.toPrecision(4)));

const CHANCE = "otherwise it is drawn by chance, and no one who sees it can know which.";

// What leaves the device and how it is drawn, for each kind of channel.
const SAID = {
  rr: ({ kept }) =>
    `One of these answers and a random number leave this device. With probability ${kept} it is your own; ${CHANCE}`,
  unary: ({ kept, channel }) =>
    "A yes or a no for each of these answers and a random number leave this device. " +
    `Yours is a yes with probability ${kept}, each other one with probability ${short(channel.off / 2 ** channel.bits)}.`,
  hash: ({ kept, channel }) =>
    `Random numbers leave this device that sort these answers into ${channel.cells} groups, and the number of one ` +
    `group. With probability ${kept} it is the group of your own answer; ${CHANCE}`,
  hadamard: ({ kept }) =>
    "A random number leaves this device that splits these answers into two groups, and a bit that names one group. " +
    `With probability ${kept} it is the group of your own answer; ${CHANCE}`,
  subset: ({ kept, channel, cells }) =>
    `A set of ${channel.size} of these answers and a random number leave this device. Your own is in it with ` +
    `probability ${kept}; by chance alone it would be with ${short(channel.size / cells)}.`,
  matrix: ({ same, channel, cells }) =>
    `One of ${channel.reports(cells)} possible reports and a random number leave this device. With probability ` +
    `${same} it is drawn in the same way whatever your answer is, and no one who sees it can know when.`,
};

/** What answering one question would mean. `known` is its entry in the ledger, if it was charged before. */
export function offer(question, remaining, known) {
  const { campaign, question: name, asks, channel, cells } = question;
  const loss = channel.lossUpper(cells);
  const parts = { loss, charge: known ? 0 : loss, kept: channel.kept(cells), odds: channel.odds(cells), remaining };
  return Object.freeze({ campaign, question: name, asks, ...parts, statement: statement(question, parts, known) });
}

/** What answering several questions together would mean. */
export function sheetOffer(offers) {
  const sum = (name) => offers.reduce((total, part) => total + part[name], 0);
  const [{ campaign, remaining }] = offers;
  const [loss, charge] = [sum("loss"), sum("charge")];
  const words = [
    `${offers.length} questions are answered together or not at all.`,
    ...offers.map((part) => part.statement),
    "All answers together change the odds between any two persons you may be",
    `by a factor of ${short(Math.exp(loss))} at most (epsilon ${short(loss)}).`,
    left(charge, remaining, "all of them"),
  ].join(" ");
  const said = offers.length > 1 ? words : offers[0].statement;
  return Object.freeze({ campaign, offers: Object.freeze(offers), loss, charge, remaining, statement: said });
}

function statement({ campaign, asks, channel, cells, series }, { loss, charge, kept, odds, remaining }, known) {
  const names = asks.map(({ attribute }) => `'${attribute}'`).join(" and ") + (asks.length > 1 ? " together" : "");
  return [
    `The campaign '${campaign}' asks for ${names} (${cells} possible answers).`,
    SAID[channel.words]({ kept: short(kept), same: short(1 - kept), channel, cells }),
    "Whatever is sent, it changes the odds between any two answers you may have",
    `by a factor of ${short(odds)} at most (epsilon ${short(loss)}).`,
    ...(series ? [promise(series)] : []),
    known
      ? "Answering it costs nothing more: it is charged already, and only one report is ever given."
      : left(charge, remaining, "this answer"),
  ].join(" ");
}

function promise({ id, wave, waves, turns, epsilon }) {
  return (
    `This is wave ${wave} of ${waves} of the series '${id}'. Your device answers in ${turns} of them, which it has ` +
    `drawn by lot, and all its answers in all waves together lose at most ${short(epsilon)}.`
  );
}

function left(charge, remaining, what) {
  const after = short(Math.max(remaining - charge, 0));
  return `Your device has ${short(remaining)} of its budget left; after ${what}, ${after}.`;
}
