// Making elements. Foreign text only ever becomes text: nothing here takes markup.
"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);
const HIDDEN = new RegExp(DATA.hidden, "gu");
const LONGEST_URL = 2000;

// An element with attributes; a function among them listens to the event of its name.
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(key, value === true ? "" : value);
    }
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function draw(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// A text whose hidden and turning characters can be seen: <U+202E>.
function visible(text) {
  return String(text).replace(
    HIDDEN,
    (found) => `<U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`,
  );
}

// A text without its middle where it is too long.
function middle(text, most = 160) {
  if (text.length <= most) return text;
  return `${text.slice(0, most * 0.7)} … ${text.slice(-most * 0.25)}`;
}

function isWeb(url) {
  if (url.length > LONGEST_URL) return false;
  try {
    return ["http:", "https:"].includes(new URL(url).protocol);
  } catch {
    return false;
  }
}

// A URL as a link where it leads into the web, else as text.
function address(url) {
  if (url === null || url === undefined) return make("span", { class: "quiet" }, "none");
  const shown = middle(visible(url)) || "(empty)";
  const long = shown.length < visible(url).length ? visible(url) : null;
  const attributes = { class: "url", dir: "ltr", title: long };
  if (!isWeb(url)) return make("bdi", attributes, shown);
  return make(
    "a",
    { ...attributes, href: url, rel: "noreferrer noopener", target: "_blank" },
    make("bdi", { dir: "ltr" }, shown),
  );
}

const COUNTS = new Intl.NumberFormat("en");
const number = (value) => COUNTS.format(value);
const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;
const measure = (value) => (value === null ? "" : value.toFixed(2));
const bits = (row) => (row.distance === null ? "" : String(row.distance));

function share(part, whole) {
  if (!whole) return "";
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 1) return "<1%";
  if (percent > 99 && percent < 100) return ">99%";
  return `${Math.round(percent)}%`;
}

function moment(seconds) {
  if (seconds === null || seconds === undefined) return "";
  const time = new Date(seconds * 1000).toISOString();
  return `${time.slice(0, 10)} ${time.slice(11, 19)}`;
}

// A share as a bar with its number.
function shareBar(part, whole) {
  const bar = draw("svg", { class: "share", width: "48", height: "10", "aria-hidden": "true" });
  bar.append(draw("rect", { class: "track", width: "100%", height: "10" }));
  if (whole) {
    bar.append(draw("rect", { class: "copies", width: `${(100 * part) / whole}%`, height: "10" }));
  }
  return make("span", { class: "share-cell" }, bar, make("span", {}, share(part, whole)));
}

// JSON from a squeezed block of the page.
async function unpack(id) {
  const packed = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(packed.length);
  for (let at = 0; at < packed.length; at += 1) bytes[at] = packed.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}
