// The reader's choice of colours, before anything is drawn. Where nothing can be stored, each
// opening begins with the system's.
"use strict";

const THEME_KEY = "simdedup-report-theme";

function storedTheme() {
  try {
    return localStorage.getItem(THEME_KEY) || "auto";
  } catch {
    return "auto";
  }
}

function applyTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

applyTheme(storedTheme());
