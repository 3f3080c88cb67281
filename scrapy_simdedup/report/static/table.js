// A table that is sorted, searched, filtered and leafed through in the page. Rows are numbers from
// 0 on; columns turn them into values and cells, so that a hundred thousand cost no more than
// what is shown.
"use strict";

// So few rows need no search.
const FEW = 5;

class Table {
  // columns: {title, number, value(row), cell(row)}; search(row, needle) tells whether a row has
  // a text; filters: {title, options: [[name, value]], test(row, value)}; detail(row, place)
  // fills what opens below a row.
  constructor(place, options) {
    Object.assign(this, { size: 20, filters: [], search: null, detail: null, order: null }, options);
    this.needle = "";
    this.chosen = this.filters.map(() => "");
    this.page = 0;
    this.place = place;
    if (!this.count) {
      place.replaceChildren(make("p", { class: "note" }, place.dataset.empty || "There is none."));
      return;
    }
    this.build();
    this.select();
  }

  build() {
    this.status = make("p", { class: "status", role: "status" });
    const controls = this.controls();
    this.heads = this.columns.map((column, at) => this.head(column, at));
    this.body = make("tbody", { role: "rowgroup" });
    const head = make("tr", { role: "row" }, ...this.heads);
    const table = make(
      "table",
      { class: `sorted ${this.kind || ""}`, role: "table", "aria-label": this.label },
      make("thead", { role: "rowgroup" }, head),
      this.body,
    );
    this.previous = make("button", { type: "button", click: () => this.leaf(-1) }, "Previous");
    this.next = make("button", { type: "button", click: () => this.leaf(1) }, "Next");
    this.pager = make("div", { class: "pager" }, this.previous, this.next);
    const below = make("div", { class: "below" }, this.status, this.pager);
    this.place.replaceChildren(...(controls ? [controls] : []), table, below);
  }

  controls() {
    if (this.count <= FEW) return null;
    const found = [];
    if (this.search) {
      const input = make("input", { type: "search", spellcheck: "false", autocomplete: "off" });
      let timer = 0;
      input.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(() => this.seek(input.value), 120);
      });
      found.push(make("label", { class: "search" }, this.searchTitle || "Search", input));
    }
    this.selects = this.filters.map((filter, at) => {
      const options = [["all", ""], ...filter.options];
      const select = make(
        "select",
        { change: () => this.choose(at, select.value) },
        ...options.map(([name, value]) => make("option", { value }, name)),
      );
      found.push(make("label", {}, filter.title, select));
      return select;
    });
    return found.length ? make("div", { class: "controls" }, ...found) : null;
  }

  head(column, at) {
    const attributes = { scope: "col", role: "columnheader", class: column.number ? "number" : null };
    if (!column.value) return make("th", attributes, column.title);
    const arrow = make("span", { class: "arrow", "aria-hidden": "true" });
    const button = make("button", { type: "button", click: () => this.sort(at) }, column.title, arrow);
    return make("th", { ...attributes, "aria-sort": "none" }, button);
  }

  sort(at) {
    const [column, falling] = this.order || [];
    // Numbers begin with the largest.
    this.order = [at, column === at ? !falling : Boolean(this.columns[at].number)];
    this.select();
  }

  seek(text) {
    this.needle = text.trim().toLowerCase();
    this.select();
  }

  choose(filter, value) {
    this.chosen[filter] = value;
    if (this.selects) this.selects[filter].value = value;
    this.select();
  }

  leaf(step) {
    const button = step < 0 ? this.previous : this.next;
    if (button.getAttribute("aria-disabled") === "true") return;
    this.page += step;
    this.render();
    // Who has read down to here reads on from the top.
    if (this.place.getBoundingClientRect().top < 0) this.place.scrollIntoView();
  }

  // Find the rows to show, in their order.
  select() {
    const rows = [];
    for (let row = 0; row < this.count; row += 1) {
      if (this.needle && !this.search(row, this.needle)) continue;
      if (this.filters.every((filter, at) => !this.chosen[at] || filter.test(row, this.chosen[at]))) {
        rows.push(row);
      }
    }
    if (this.order) this.arrange(rows);
    this.rows = rows;
    this.page = 0;
    this.render();
  }

  arrange(rows) {
    const [at, falling] = this.order;
    const keys = new Array(this.count);
    for (const row of rows) keys[row] = this.columns[at].value(row);
    const sign = falling ? -1 : 1;
    const none = (key) => key === null || key === undefined || key === "";
    rows.sort((one, other) => {
      const [a, b] = [keys[one], keys[other]];
      // What has no value comes last, either way.
      if (none(a) || none(b)) return none(a) - none(b) || one - other;
      if (a === b) return one - other;
      return a < b ? -sign : sign;
    });
  }

  render() {
    const from = this.page * this.size;
    const shown = this.rows.slice(from, from + this.size);
    this.body.replaceChildren(...shown.map((row) => this.line(row)));
    if (!this.rows.length) {
      const attributes = { role: "cell", colspan: this.columns.length, class: "none" };
      const cell = make("td", attributes, "Nothing fits the search.");
      this.body.append(make("tr", { role: "row" }, cell));
    }
    const [sorted, falling] = this.order || [];
    this.heads.forEach((head, at) => {
      if (!head.hasAttribute("aria-sort")) return;
      const told = falling ? "descending" : "ascending";
      head.setAttribute("aria-sort", at === sorted ? told : "none");
    });
    const last = from + shown.length;
    const all = this.rows.length < this.count ? `, out of ${number(this.count)}` : "";
    // A handful is counted at a glance.
    this.status.textContent = this.rows.length && this.count > FEW
      ? `${number(from + 1)} to ${number(last)} of ${number(this.rows.length)}${all}`
      : "";
    this.pager.hidden = this.rows.length <= this.size;
    // Not really disabled: that would take the focus away from it.
    this.previous.setAttribute("aria-disabled", String(!this.page));
    this.next.setAttribute("aria-disabled", String(last >= this.rows.length));
  }

  line(row) {
    const cells = this.columns.map((column) => {
      const attributes = { role: "cell", class: column.number ? "number" : null };
      return make("td", { ...attributes, "data-label": column.title }, column.cell(row));
    });
    const line = make("tr", { role: "row" }, ...cells);
    if (this.detail) cells[0].prepend(this.opener(row, line));
    return line;
  }

  opener(row, line) {
    let below = null;
    const toggle = async () => {
      const open = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", String(!open));
      if (!below) {
        const place = make("td", { role: "cell", colspan: this.columns.length });
        below = make("tr", { role: "row", class: "detail" }, place);
        line.after(below);
        await this.detail(row, place);
      }
      below.hidden = open;
    };
    const button = make(
      "button",
      { type: "button", class: "opener", "aria-expanded": "false", click: toggle },
      make("span", { class: "sr" }, this.opens),
    );
    return button;
  }
}
