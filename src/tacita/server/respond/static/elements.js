// Elements, made without a text ever being read as HTML.

/**
 * @param {string} tag
 * @param {object} [parts] attributes; functions are listeners
 * @param {...(Node | string | null)} children
 */
export function make(tag, parts = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(parts)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}
