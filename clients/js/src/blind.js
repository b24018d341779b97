// Blind signatures for one-time tokens: RSABSSA-SHA384-PSS-Randomized of RFC 9474, the respondent's half. Blinded
// messages are uniform, whatever the message is: an aggregator cannot tell which code a token was bought with. The
// exponent is 65537. WebCrypto hashes and verifies; the two products that it does not offer are made with BigInt.

import { Refused, refuseUnless } from "./refused.js";
import { hex, subtle, systemBytes } from "./system.js";

export const BITS = 2048;
export const MESSAGE_BYTES = 64; // 32 random bytes that the RFC asks for, and 32 that name the token
const TOKEN_DIGITS = 2 * (MESSAGE_BYTES + BITS / 8);
const EXPONENT = 65537n;
const HASH = 48;
const SALT = 48;

/** Whether it is a modulus as the wire has it: 512 lower-case hexadecimal digits, the highest and the lowest bit set. */
export function isKey(text) {
  return typeof text === "string" && /^[89a-f][0-9a-f]{510}[13579bdf]$/.test(text);
}

/** A new message that no one else has: the name of a token. */
export const prepare = () => systemBytes(MESSAGE_BYTES);

/**
 * Blind a message for a key. `given` holds salt and factor in test vectors; fresh randomness otherwise.
 *
 * @param {Uint8Array} message
 * @param {string} key the modulus in hexadecimal digits
 * @returns {Promise<{message: string, sent: string, inverse: string, encoded: string, key: string}>} all in
 *   hexadecimal digits, to be stored until the signature has come; `sent` is what the aggregator sees
 */
export async function blind(message, key, given) {
  const modulus = BigInt(`0x${key}`);
  const factor = given?.factor ?? drawFactor(modulus);
  const encoded = await encode(message, given?.salt ?? systemBytes(SALT), 4 * key.length);
  const sent = (encoded * power(factor, EXPONENT, modulus)) % modulus;
  const [open, inverse] = [encoded, inverseOf(factor, modulus)].map((number) => digits(number, key.length));
  return { message: hex(message), sent: digits(sent, key.length), inverse, encoded: open, key };
}

/** Take the blinding off a signature, given in hexadecimal digits; refuses what is no signature of what was sent. */
export function finalize({ inverse, encoded, key }, signature) {
  const wrong = new Refused("token", "token", "must be signed by the key of the campaign");
  if (typeof signature !== "string" || signature.length !== key.length || !/^[0-9a-f]+$/.test(signature)) throw wrong;
  const modulus = BigInt(`0x${key}`);
  const opened = (BigInt(`0x${signature}`) * BigInt(`0x${inverse}`)) % modulus;
  if (power(opened, EXPONENT, modulus) !== BigInt(`0x${encoded}`)) throw wrong;
  return digits(opened, key.length);
}

/** A token: the message with its signature. */
export const tokenOf = (blinded, signature) => blinded.message + finalize(blinded, signature);

/** Whether a token is signed by a key. */
export async function isToken(token, key) {
  if (typeof token !== "string" || token.length !== TOKEN_DIGITS || !/^[0-9a-f]+$/.test(token)) return false;
  return isSigned(bytes(token.slice(0, 2 * MESSAGE_BYTES)), token.slice(2 * MESSAGE_BYTES), key);
}

/** The id of the report that a token allows at a place of a sheet, from 0. */
export async function reportId(token, place) {
  const named = Uint8Array.from([...bytes(token.slice(0, 2 * MESSAGE_BYTES)), place]);
  return hex(new Uint8Array(await subtle.digest("SHA-256", named))).slice(0, 32);
}

/** Whether a message is signed: RSASSA-PSS with SHA-384 and a salt of 48 bytes. */
export async function isSigned(message, signature, key) {
  const rule = { name: "RSA-PSS", hash: "SHA-384" };
  const jwk = { kty: "RSA", n: base64(bytes(key)), e: "AQAB" };
  const imported = await subtle.importKey("jwk", jwk, rule, false, ["verify"]);
  return subtle.verify({ name: "RSA-PSS", saltLength: SALT }, imported, bytes(signature), message);
}

/** The bytes of hexadecimal digits. */
export function bytes(text) {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

// EMSA-PSS-ENCODE (RFC 8017, 9.1.1) for a modulus of so many bits, as a number.
async function encode(message, salt, bits) {
  const size = Math.ceil((bits - 1) / 8);
  const digest = await hash(new Uint8Array(8), await hash(message), salt);
  const block = new Uint8Array(size - HASH - 1);
  block[block.length - salt.length - 1] = 1;
  block.set(salt, block.length - salt.length);
  const mask = await mgf1(digest, block.length);
  block.forEach((byte, i) => (block[i] = byte ^ mask[i]));
  block[0] &= 0xff >> (8 * size - (bits - 1));
  return BigInt(`0x${hex(block)}${hex(digest)}bc`);
}

async function mgf1(seed, size) {
  const parts = [];
  for (let i = 0; i * HASH < size; i++) parts.push(...(await hash(seed, new Uint8Array([0, 0, 0, i]))));
  return parts.slice(0, size);
}

async function hash(...parts) {
  const joined = Uint8Array.from(parts.flatMap((part) => [...part]));
  return new Uint8Array(await subtle.digest("SHA-384", joined));
}

function drawFactor(modulus) {
  for (;;) {
    const factor = BigInt(`0x${hex(systemBytes(BITS / 8))}`);
    if (factor > 0n && factor < modulus) return factor;
  }
}

function power(base, exponent, modulus) {
  let [result, square] = [1n, base % modulus];
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * square) % modulus;
    square = (square * square) % modulus;
  }
  return result;
}

function inverseOf(value, modulus) {
  let [a, b, x, y] = [modulus, value, 0n, 1n];
  while (b > 0n) [a, b, x, y] = [b, a % b, y, x - (a / b) * y];
  refuseUnless(a === 1n, "key", "key", "must be the product of two large primes");
  return ((x % modulus) + modulus) % modulus;
}

const digits = (number, size) => number.toString(16).padStart(size, "0");
const base64 = (data) => btoa(String.fromCharCode(...data)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
