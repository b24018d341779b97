// A storage for Node: one JSON file, which several processes may share. Only this file needs Node.

import { open, readFile, rename, rm } from "node:fs/promises";

const PAUSE = 20; // milliseconds between tries to get the lock
const TRIES = 1500;

/**
 * @param {string} path of the file; its folder must exist. Beside it lies path + ".lock" while it is used.
 * @returns {{getItem: Function, setItem: Function, lock: Function}} what `Device` takes as its storage
 */
export function fileStorage(path) {
  const items = async () => {
    try {
      return JSON.parse(await readFile(path, "utf8"));
    } catch (error) {
      if (error.code === "ENOENT") return {};
      throw error;
    }
  };
  return {
    getItem: async (key) => (await items())[key] ?? null,
    setItem: async (key, value) => replaceFile(path, JSON.stringify({ ...(await items()), [key]: String(value) })),
    lock: (work) => alone(`${path}.lock`, work),
  };
}

// Written beside, flushed to disk, renamed: a crash leaves the old file or the new one.
async function replaceFile(path, text) {
  const file = await open(`${path}.new`, "w", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
}

// A lock that a crash leaves behind is not broken: to guess that its owner is dead could spend a budget twice.
async function alone(path, work) {
  for (let i = 0; ; i++) {
    try {
      await (await open(path, "wx", 0o600)).close();
      break;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
      if (i === TRIES) throw new Error(`${path} is held; remove it if no other program uses the ledger`);
      await new Promise((done) => setTimeout(done, PAUSE));
    }
  }
  try {
    return await work();
  } finally {
    await rm(path);
  }
}
