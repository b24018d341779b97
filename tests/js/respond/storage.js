/** What a browser's localStorage does, in memory. */
export class MemoryStorage {
  #items = new Map();

  get length() {
    return this.#items.size;
  }

  key(i) {
    return [...this.#items.keys()][i] ?? null;
  }

  getItem(key) {
    return this.#items.get(key) ?? null;
  }

  setItem(key, value) {
    this.#items.set(key, String(value));
  }

  #turn = Promise.resolve();

  lock(work) {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }
}
