export { blind, prepare, tokenOf } from "./blind.js";
export { KINDS, readChannel } from "./channels.js";
export { Device } from "./device.js";
export { WIRE, cellOf, digest, fingerprint, verify } from "./question.js";
export { Refused } from "./refused.js";
export { drawTurns } from "./series.js";
