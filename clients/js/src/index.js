export { draw, loss } from "./channel.js";
export { Device } from "./device.js";
export { Refused, WIRE, digest, verify } from "./question.js";
