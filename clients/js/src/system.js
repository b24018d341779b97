// What the system gives: random bytes and SHA-256. Node 18 has no global `crypto`; browsers and later versions do.

const system = globalThis.crypto ?? (await import("node:crypto")).webcrypto;

/** Hashes and signatures of the system; there in secure contexts only. */
export const subtle = system.subtle;

/** A uniform 64-bit word of the system, as its low and high halves. */
export function systemWord() {
  const bytes = new DataView(systemBytes(8).buffer);
  return [bytes.getUint32(0, true), bytes.getUint32(4, true)];
}

/** Random bytes of the system. */
export function systemBytes(count) {
  return system.getRandomValues(new Uint8Array(count));
}

/** SHA-256 of a text, in hexadecimal digits. */
export async function sha256(text) {
  return hex(new Uint8Array(await system.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

/** Bytes as lower-case hexadecimal digits. */
export function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
