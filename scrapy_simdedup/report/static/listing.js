// The table of all decisions, unpacked when it is about to be seen.
"use strict";

// Columns of numbers become rows; -1 stands for none, shares are in thousandths.
function listingColumns(all) {
  const url = (row) => all.urls[all.url[row]];
  const near = (row) => (all.near[row] < 0 ? null : all.urls[all.near[row]]);
  const label = (row) => all.labels[all.label[row]];
  const time = (row) => (all.time[row] < 0 || all.start === null ? null : all.start + all.time[row]);
  const measured = (name, scale, digits) => ({
    number: true,
    value: (row) => (all[name][row] < 0 ? null : all[name][row]),
    cell: (row) => (all[name][row] < 0 ? "" : (all[name][row] / scale).toFixed(digits)),
  });
  const nearest = (row) => {
    if (near(row) === null) return "";
    const copy = ["duplicate", "orphaned"].includes(label(row)[0]);
    return make("div", { class: "near" }, copy ? "copies " : "near ", address(near(row)));
  };
  return {
    page: {
      title: "page",
      // The list of URLs is sorted, so their places are in their order.
      value: (row) => all.url[row],
      cell: (row) => make("div", { class: "urls" }, make("div", {}, address(url(row))), nearest(row)),
    },
    verdict: {
      title: "verdict",
      value: (row) => all.label[row],
      cell: (row) => verdictMark(...label(row)),
    },
    resemblance: { title: "resemblance", ...measured("resemblance", 1000, 2) },
    containment: { title: "containment", ...measured("containment", 1000, 2) },
    distance: { title: "bits", ...measured("distance", 1, 0) },
    method: {
      title: "method",
      value: (row) => all.methods[all.method[row]],
      cell: (row) => visible(all.methods[all.method[row]]),
    },
    kind: {
      title: "kind",
      value: (row) => all.item[row],
      cell: (row) => (all.item[row] ? "item" : "page"),
    },
    run: {
      title: "run",
      number: true,
      value: (row) => all.runs[all.run[row]],
      cell: (row) => String(all.runs[all.run[row]]),
    },
    time: { title: "time (UTC)", value: time, cell: (row) => moment(time(row)) },
  };
}

function verdictMark(status, reason) {
  const shown = reason ? `${status}: ${middle(visible(reason), 30)}` : status;
  return make("span", { class: `verdict ${status}` }, shown);
}

// Each verdict, and each verdict with its reasons.
function labelFilter(all) {
  const statuses = [...new Set(all.labels.map(([status]) => status))];
  const options = [];
  for (const status of statuses) {
    options.push([status, status]);
    all.labels.forEach(([of, reason], at) => {
      const name = `${status}: ${middle(visible(reason), 30)}`;
      if (of === status && reason) options.push([name, `#${at}`]);
    });
  }
  return {
    title: "Verdict",
    options,
    test: (row, value) =>
      value.startsWith("#") ? all.label[row] === Number(value.slice(1)) : all.labels[all.label[row]][0] === value,
  };
}

let listed = null;

// The table, made at the first call.
function listing() {
  listed ??= makeListing();
  return listed;
}

async function makeListing() {
  const place = document.getElementById("listing-table");
  place.replaceChildren(make("p", { class: "note", role: "status" }, "Unpacking …"));
  const all = await unpack("listing");
  const lower = all.urls.map((url) => url.toLowerCase());
  const columns = listingColumns(all);
  const { page, verdict, resemblance, containment, distance, method, kind, run, time } = columns;
  const filters = [labelFilter(all)];
  if (DATA.several_runs) {
    filters.push({
      title: "Run",
      options: all.runs.map((each, at) => [String(each), String(at)]).reverse(),
      test: (row, value) => all.run[row] === Number(value),
    });
  }
  const table = new Table(place, {
    label: "All decisions",
    kind: "listing",
    count: all.count,
    columns: [
      page,
      verdict,
      resemblance,
      containment,
      distance,
      method,
      ...(DATA.several_kinds ? [kind] : []),
      ...(DATA.several_runs ? [run] : []),
      time,
    ],
    searchTitle: "Search URLs",
    search: (row, needle) =>
      lower[all.url[row]].includes(needle) || (all.near[row] >= 0 && lower[all.near[row]].includes(needle)),
    filters,
    size: 25,
  });
  table.labels = all.labels;
  return table;
}

// Filter for a verdict, and for a reason where one is given.
async function showDecisions(status, reason) {
  const table = await listing();
  const at = table.labels.findIndex(([of, why]) => of === status && visible(why) === reason);
  table.choose(0, reason && at >= 0 ? `#${at}` : status);
}

function listWhenSeen() {
  const section = document.getElementById("decisions");
  const watch = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watch.disconnect();
      listing();
    },
    { rootMargin: "600px" },
  );
  watch.observe(section);
}
