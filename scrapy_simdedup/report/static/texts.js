// Two texts side by side. A row is a list of pieces: a string that both have, or the pair of
// what either has in that place.
"use strict";

const TURNING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u202a-\u202e\u2066-\u2069\ufeff]/gu;
// Shorter stretches that are the same are not worth hiding.
const FOLDED = 300;

const dialog = document.getElementById("compare");
dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());
// A click beside the dialog is one on its backdrop.
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});

function shownText(text) {
  return text.replace(TURNING, visible);
}

function languageOf(text) {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)) return "ja";
  return /\p{Script=Han}/u.test(text) ? "zh" : null;
}

const isSame = (row) => row.every((piece) => typeof piece === "string");

// What is marked begins with its first word, not with the space before it.
function marked(name, text) {
  const word = text.trimStart();
  return word ? [text.slice(0, text.length - word.length), make(name, {}, shownText(word))] : [];
}

// A row as one side has it, or with what either has where there is room for one column only.
function cellOf(row, kind, sides) {
  const cell = make("div", { class: kind, dir: "auto" });
  for (const piece of row) {
    if (typeof piece === "string") cell.append(shownText(piece));
    else for (const side of sides) cell.append(...marked(side ? "ins" : "del", piece[side]));
  }
  cell.setAttribute("lang", languageOf(cell.textContent) || "");
  return cell;
}

function rowOf(row) {
  const cells = [cellOf(row, "side", [0]), cellOf(row, "side", [1]), cellOf(row, "both", [0, 1])];
  return make("div", { class: isSame(row) ? "pair same" : "pair" }, ...cells);
}

// Rows of which a long run of the same ones is hidden behind a button.
function foldedRows(rows) {
  const found = [];
  let same = [];
  const flush = () => {
    const length = same.flat().reduce((sum, piece) => sum + piece.length, 0);
    const made = same.map(rowOf);
    if (length > FOLDED && rows.length > 1) {
      const name = plural(same.length, "paragraph is", "paragraphs are");
      const button = make("button", { type: "button", class: "fold" }, `${name} the same: show`);
      button.addEventListener("click", () => {
        made[0].tabIndex = -1;
        button.replaceWith(...made);
        made[0].focus();
      });
      found.push(button);
    } else found.push(...made);
    same = [];
  };
  for (const row of rows) {
    if (isSame(row)) same.push(row);
    else {
      flush();
      found.push(rowOf(row));
    }
  }
  flush();
  return found;
}

function measuresOf(row) {
  const told = [];
  if (row.resemblance !== null) told.push(`resemblance ${measure(row.resemblance)}`);
  if (row.containment !== null) told.push(`containment ${measure(row.containment)}`);
  if (row.distance !== null) told.push(plural(row.distance, "bit"));
  if (row.method) told.push(`by ${row.method}`);
  return told.join(", ");
}

// Show how a row's text differs from that of the kept page at a URL.
function showTexts(row, kept, copy, text) {
  const places = text.rows.flat().filter((piece) => typeof piece !== "string").length;
  const found = places ? `They differ in ${plural(places, "place")}.` : "The texts are the same.";
  const cut = text.cut ? " Both are cut: they are too long to be compared as a whole." : "";
  const key = places
    ? make(
        "p",
        { class: "key" },
        make("del", {}, "only in the kept one"),
        make("ins", {}, copy ? "only in the copy" : "only in the other page"),
      )
    : null;
  const heads = make(
    "div",
    { class: "pair heads" },
    make("h3", {}, "Kept: ", address(kept)),
    make("h3", {}, copy ? "Copy: " : "Also kept: ", address(row.url)),
  );
  document
    .getElementById("compare-body")
    .replaceChildren(
      make("p", {}, `${measuresOf(row)}. ${found}${cut}`),
      ...(key ? [key] : []),
      heads,
      ...foldedRows(text.rows),
    );
  dialog.showModal();
  document.getElementById("compare-body").scrollTop = 0;
}

function compareButton(open) {
  return make("button", { type: "button", class: "compare", click: open }, "Compare texts");
}
