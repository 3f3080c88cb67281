// The tables of the page, from what the data block holds.
"use strict";

function tallyColumns(rows) {
  const count = (name) => ({
    title: name === "error" ? "errors" : name,
    number: true,
    value: (row) => rows[row][name],
    cell: (row) => number(rows[row][name]),
  });
  const judged = (row) => rows[row].copies / (rows[row].judged || 1);
  return [
    count("judged"),
    count("copies"),
    {
      title: "share",
      number: true,
      value: judged,
      cell: (row) => shareBar(rows[row].copies, rows[row].judged),
    },
    count("kept"),
    count("skipped"),
    ...(rows.some((row) => row.error) ? [count("error")] : []),
  ];
}

function nameColumn(title, rows, none) {
  return {
    title,
    value: (row) => rows[row].name,
    cell: (row) => make("bdi", { class: "name", dir: "ltr" }, visible(rows[row].name) || none),
  };
}

function measureColumns(rowOf) {
  const share = (name) => ({
    title: name,
    number: true,
    value: (row) => rowOf(row)[name],
    cell: (row) => measure(rowOf(row)[name]),
  });
  return [
    share("resemblance"),
    share("containment"),
    { title: "bits", number: true, value: (row) => rowOf(row).distance, cell: (row) => bits(rowOf(row)) },
  ];
}

function contains(...texts) {
  return (needle) => texts.some((text) => text && text.toLowerCase().includes(needle));
}

function placeOf(id) {
  return document.getElementById(`${id}-table`);
}

function hostsTable() {
  const rows = DATA.hosts;
  const [judged, copies, rate, ...rest] = tallyColumns(rows);
  const foreign = {
    title: "from elsewhere",
    number: true,
    value: (row) => rows[row].foreign,
    cell: (row) => number(rows[row].foreign),
  };
  new Table(placeOf("hosts"), {
    label: "Hosts",
    count: rows.length,
    columns: [nameColumn("host", rows, "(none: files)"), judged, copies, rate, foreign, ...rest],
    search: (row, needle) => contains(rows[row].name)(needle),
    order: [2, true],
    size: 10,
  });
}

function spidersTable() {
  const rows = DATA.spiders;
  new Table(placeOf("spiders"), {
    label: "Spiders",
    count: rows.length,
    columns: [nameColumn("spider", rows, "(without a name)"), ...tallyColumns(rows)],
    search: (row, needle) => contains(rows[row].name)(needle),
    size: 10,
  });
}

function runsTable() {
  const rows = DATA.runs;
  const text = (title, value, cell = value) => ({
    title,
    value,
    cell: (row) => make("span", { class: "short" }, cell(row) || ""),
  });
  new Table(placeOf("runs"), {
    label: "Runs",
    count: rows.length,
    columns: [
      { title: "run", number: true, value: (row) => rows[row].id, cell: (row) => String(rows[row].id) },
      {
        title: "spider",
        value: (row) => rows[row].spider,
        cell: (row) => middle(visible(rows[row].spider), 40),
      },
      text("began (UTC)", (row) => rows[row].started, (row) => moment(rows[row].started)),
      text("took", (row) => rows[row].took, (row) => rows[row].took_shown),
      text("ended", (row) => rows[row].status, (row) => middle(visible(rows[row].status), 30)),
      ...tallyColumns(rows),
    ],
    search: (row, needle) => contains(rows[row].spider, rows[row].status)(needle),
    size: 10,
  });
}

function callsTable() {
  const rows = DATA.calls;
  const cell = (row) => {
    const parts = [make("div", {}, address(rows[row].url)), make("div", { class: "near" }, "near ", address(rows[row].near))];
    return make("div", { class: "urls" }, ...parts);
  };
  const open = async (row) => {
    const each = rows[row];
    showTexts(each, each.near, each.copy, await unpack(each.text));
  };
  const compared = rows.some((row) => row.text);
  return new Table(placeOf("calls"), {
    label: "Close calls",
    kind: "calls",
    count: rows.length,
    columns: [
      { title: "page", value: (row) => rows[row].url, cell },
      {
        title: "verdict",
        value: (row) => (rows[row].copy ? "copy" : "kept"),
        cell: (row) => make("span", { class: `verdict ${rows[row].copy ? "copies" : "kept"}` }, rows[row].copy ? "copy" : "kept"),
      },
      { title: "why", cell: (row) => rows[row].why },
      ...measureColumns((row) => rows[row]),
      ...(compared
        ? [{ title: "texts", cell: (row) => (rows[row].text ? compareButton(() => open(row)) : "") }]
        : []),
    ],
    search: (row, needle) => contains(rows[row].url, rows[row].near, rows[row].why)(needle),
    filters: [
      {
        title: "Show",
        options: [["kept just outside", "kept"], ["copies just inside", "copies"]],
        test: (row, value) => rows[row].copy === (value === "copies"),
      },
    ],
    size: 10,
  });
}

function copiesOf(cluster, copies, place) {
  const at = (row) => copies[row];
  const note = cluster.shown < cluster.size
    ? make("p", { class: "note" }, `The ${number(cluster.shown)} least alike of ${number(cluster.size)}.`)
    : null;
  const inner = make("div");
  place.append(make("div", { class: "inner" }, ...(note ? [note] : []), inner));
  const compare = {
    title: "texts",
    cell: (row) =>
      at(row).text ? compareButton(() => showTexts(at(row), cluster.url, true, at(row).text)) : "",
  };
  new Table(inner, {
    label: `Copies of ${visible(cluster.url)}`,
    count: copies.length,
    columns: [
      { title: "copy", value: (row) => at(row).url, cell: (row) => address(at(row).url) },
      ...measureColumns(at),
      { title: "method", value: (row) => at(row).method, cell: (row) => at(row).method || "" },
      ...(copies.some((copy) => copy.reason)
        ? [{ title: "doubt", value: (row) => at(row).reason, cell: (row) => visible(at(row).reason || "") }]
        : []),
      ...(copies.some((copy) => copy.text) ? [compare] : []),
    ],
    size: 10,
  });
}

function clustersTable() {
  const rows = DATA.clusters;
  const count = (title, name) => ({
    title,
    number: true,
    value: (row) => rows[row][name],
    cell: (row) => number(rows[row][name]),
  });
  new Table(placeOf("clusters"), {
    label: "Largest clusters",
    kind: "clusters",
    count: rows.length,
    columns: [
      {
        title: "original",
        value: (row) => rows[row].url,
        cell: (row) =>
          make(
            "span",
            {},
            address(rows[row].url),
            rows[row].removed ? make("span", { class: "near" }, " removed from the index") : null,
          ),
      },
      count("copies", "size"),
      count("hosts", "hosts"),
      {
        title: "least alike",
        number: true,
        value: (row) => rows[row].least,
        cell: (row) => measure(rows[row].least),
      },
      ...(rows.some((row) => row.same_page) ? [count("same page", "same_page")] : []),
      { title: "last copy (UTC)", value: (row) => rows[row].last, cell: (row) => moment(rows[row].last) },
    ],
    search: (row, needle) => contains(rows[row].url)(needle),
    opens: "Show its copies",
    detail: async (row, place) => copiesOf(rows[row], await unpack(rows[row].block), place),
    order: [1, true],
    size: 10,
  });
}

function orphansTable() {
  const rows = DATA.orphans;
  new Table(placeOf("orphans"), {
    label: "Pages to crawl again",
    count: rows.length,
    columns: [
      { title: "page", value: (row) => rows[row].url, cell: (row) => address(rows[row].url) },
      { title: "was taken for a copy of", value: (row) => rows[row].original, cell: (row) => address(rows[row].original) },
    ],
    search: (row, needle) => contains(rows[row].url, rows[row].original)(needle),
    size: 10,
  });
}

function examples() {
  for (const place of document.querySelectorAll("[data-examples]")) {
    const urls = DATA.examples[Number(place.dataset.examples)];
    place.append(...urls.map((url) => make("div", {}, address(url))));
  }
}
