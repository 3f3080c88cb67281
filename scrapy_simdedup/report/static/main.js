// Puts the page together.
"use strict";

function themes() {
  const group = document.querySelector(".themes");
  const buttons = [...group.querySelectorAll("button")];
  const show = (theme) => {
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(button.dataset.theme === theme));
    }
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      applyTheme(button.dataset.theme);
      show(button.dataset.theme);
      try {
        localStorage.setItem(THEME_KEY, button.dataset.theme);
      } catch {
        // It holds as long as the page is open.
      }
    });
  }
  show(storedTheme());
  group.hidden = false;
}

// Links of the summary open their section with a filter set.
function filteringLinks(calls) {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-show]");
    if (!link) return;
    const { show, reason } = link.dataset;
    if (link.hash === "#close") calls.choose(0, show);
    else showDecisions(show, reason || "");
  });
}

// What cannot be unpacked is not passed over in silence.
addEventListener("unhandledrejection", () => {
  document.getElementById("trouble").hidden = false;
});

themes();
if (document.getElementById("decisions")) {
  const calls = callsTable();
  clustersTable();
  hostsTable();
  if (placeOf("spiders")) spidersTable();
  if (placeOf("orphans")) orphansTable();
  examples();
  listWhenSeen();
  filteringLinks(calls);
}
if (placeOf("runs")) runsTable();
