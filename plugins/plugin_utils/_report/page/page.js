
/* Copyright (c) 2026, livenodes.kubelet contributors
   GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
   SPDX-License-Identifier: GPL-3.0-or-later */
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);

  // Text only: nothing from outside is ever read as markup.
  const make = (tag, words, className) => {
    const element = document.createElement(tag);
    if (words !== undefined) element.textContent = words;
    if (className) element.className = className;
    return element;
  };
  const duration = (seconds) => {
    const whole = Math.round(seconds);
    if (whole < 60) return `${whole} s`;
    if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
    return `${Math.floor(whole / 3600)} h ${Math.floor(whole % 3600 / 60)} min`;
  };

  const nodes = data.nodes.map(([name, state, batch, delivery, flat, verdict, cause, remedy], order) => {
    const steps = [];
    for (let at = 0; at < flat.length; at += 2) steps.push([data.steps[flat[at]], flat[at + 1]]);
    steps.sort((one, other) => one[1] - other[1]);
    const began = batch ? data.batches[batch - 1][0] : 0;
    const ended = steps.length ? steps[steps.length - 1][1] : null;
    const took = ended === null ? -1 : Math.max(0, ended - began);
    const words = `${name}\n${verdict || ""}\n${cause || ""}`.toLowerCase();
    return {name, state, batch, delivery, steps, verdict, cause, remedy, order, began, took, words};
  });
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const longest = Math.max(1, ...data.batches.map((batch) => batch[1]));

  // The columns of the table. `key`: what a click on the head sorts by. `narrow`: the width on a small screen, which
  // hides a column without one.
  const columns = [
    {
      words: "Node", key: "name", width: "minmax(120px, 2.2fr)", narrow: "minmax(64px, 1.4fr)",
      fill: (cell, node) => { cell.textContent = cell.title = node.name; },
    },
    {
      words: "State", key: "state", width: "104px", narrow: "90px",
      fill: (cell, node) => cell.append(make("span", data.states[node.state], `chip s-${data.states[node.state]}`)),
    },
    {
      words: "Batch", key: "batch", width: "62px", className: "number",
      fill: (cell, node) => { cell.textContent = node.batch || "–"; },
    },
    {
      words: "Timeline", key: "began", width: "minmax(200px, 5fr)", narrow: "minmax(50px, 2fr)", className: "timeline",
      fill: (cell, node) => {
        const label = node.steps.map(([step, at]) => `${step} after ${duration(at - node.began)}`).join(", ");
        node.bar = make("div", undefined, "bar");
        node.bar.setAttribute("role", "img");
        node.bar.setAttribute("aria-label", label || "no steps");
        cell.append(node.bar);
      },
    },
    {
      words: "Took", key: "took", width: "96px", narrow: "62px", className: "number",
      fill: (cell, node) => { cell.textContent = node.took < 0 ? "–" : duration(node.took); },
    },
  ];
  const cellOf = (column, role) => {
    const cell = make("div", undefined, `${column.className || ""} ${column.narrow ? "" : "wide"}`.trim());
    cell.setAttribute("role", role);
    return cell;
  };
  const widths = (kind) => columns.map((column) => column[kind]).filter(Boolean).join(" ");
  byId("table").style.setProperty("--wide", widths("width"));
  byId("table").style.setProperty("--narrow", widths("narrow"));

  // The table: one plain row per node.
  const rows = byId("rows");
  const draw = (node, axis) => {
    const [from, span] = axis === "run" ? [0, Math.max(1, data.seconds)] : [node.began, longest];
    const place = (at) => Math.min(100, Math.max(0, (at - from) / span * 100));
    const stops = [];
    let before = place(node.began);
    if (node.steps.length) stops.push(`transparent 0 ${before}%`);
    for (const [step, at] of node.steps) {
      // A step without a duration stays visible.
      const after = Math.min(100, Math.max(place(at), before + 0.4));
      stops.push(`var(--${step}) ${before}% ${after}%`);
      before = after;
    }
    const gradient = `linear-gradient(to right, ${stops.join(", ")}, transparent ${before}%)`;
    node.bar.style.backgroundImage = stops.length ? gradient : "none";
  };
  for (const node of nodes) {
    const line = make("div", undefined, "line");
    line.setAttribute("role", "row");
    line.tabIndex = -1;
    for (const column of columns) {
      const cell = cellOf(column, "cell");
      column.fill(cell, node);
      line.append(cell);
    }
    line.node = node;
    node.line = line;
  }

  // Search, filters, order.
  const search = byId("search"), state = byId("state"), batch = byId("batch"), axis = byId("axis");
  const addOption = (select, value, words) => {
    const option = make("option", words);
    option.value = value;
    select.append(option);
  };
  data.states.forEach((word, index) => {
    const count = nodes.reduce((sum, node) => sum + (node.state === index), 0);
    if (count) addOption(state, index, `${word} (${count.toLocaleString("en")})`);
  });
  data.batches.forEach((_times, index) => addOption(batch, index + 1, index + 1));
  const compare = new Intl.Collator("en", {numeric: true}).compare;
  let sorted = null, downwards = false;
  const heads = columns.map((column) => {
    const {words, key} = column, head = cellOf(column, "columnheader"), button = make("button", words);
    button.type = "button";
    button.addEventListener("click", () => {
      downwards = sorted === key && !downwards;
      sorted = key;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", downwards ? "descending" : "ascending");
      arrange();
    });
    head.append(button);
    return head;
  });
  byId("heads").append(...heads);
  // The scale of the timeline: its ends and the tick in the middle.
  const scale = make("div", undefined, "scale");
  byId("heads").querySelector(".timeline").append(scale);
  const drawAll = () => {
    const span = axis.value === "run" ? Math.max(1, data.seconds) : longest;
    scale.replaceChildren(...[0, span / 2, span].map((at) => make("span", duration(at))));
    nodes.forEach((node) => draw(node, axis.value));
  };

  let visible = [];
  const point = (node, focus) => {
    rows.querySelectorAll('[tabindex="0"]').forEach((line) => { line.tabIndex = -1; });
    if (!node) return;
    node.line.tabIndex = 0;
    if (focus) node.line.focus();
  };
  const filter = () => {
    const words = search.value.trim().toLowerCase();
    visible = [];
    for (const line of rows.children) {
      const node = line.node;
      const inState = state.value === "" || node.state === Number(state.value);
      const inBatch = batch.value === "" || node.batch === Number(batch.value);
      line.hidden = !(inState && inBatch && (!words || node.words.includes(words)));
      if (!line.hidden) visible.push(node);
    }
    byId("shown").textContent = visible.length === nodes.length ? nodes.length.toLocaleString("en")
      : `${visible.length.toLocaleString("en")} of ${nodes.length.toLocaleString("en")}`;
    byId("none").hidden = visible.length > 0;
    byId("table").hidden = visible.length === 0;
    point(visible[0]);
  };
  const arrange = () => {
    const order = [...nodes];
    if (sorted) {
      const sign = downwards ? -1 : 1;
      const difference = (one, other) =>
        typeof one[sorted] === "string" ? compare(one[sorted], other[sorted]) : one[sorted] - other[sorted];
      order.sort((one, other) => sign * difference(one, other) || one.order - other.order);
    }
    rows.replaceChildren(...order.map((node) => node.line));
    filter();
  };
  search.addEventListener("input", filter);
  state.addEventListener("change", filter);
  batch.addEventListener("change", filter);
  axis.addEventListener("change", drawAll);
  byId("clear").addEventListener("click", () => {
    search.value = state.value = batch.value = "";
    filter();
    search.focus();
  });

  // The details of one node.
  const detail = byId("detail");
  const open = (node) => {
    byId("detail-name").textContent = node.name;
    const list = make("dl");
    const show = (term, words) => { if (words) list.append(make("dt", term), make("dd", words)); };
    show("State", data.states[node.state] + (node.verdict ? ` (${node.verdict})` : ""));
    show("Cause", node.cause);
    show("Remedy", node.remedy);
    show("Batch", node.batch ? String(node.batch) : "");
    show("Delivery", node.delivery);
    let before = node.began;
    for (const [step, at] of node.steps) {
      show(step, `${duration(at)} after the start of the run, ${duration(at - before)} after the previous step`);
      before = at;
    }
    byId("detail-body").replaceChildren(list);
    detail.showModal();
  };
  rows.addEventListener("click", (event) => {
    const line = event.target.closest(".line");
    if (line) { point(line.node); open(line.node); }
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-node]");
    if (button && byName.has(button.dataset.node)) open(byName.get(button.dataset.node));
  });
  rows.addEventListener("keydown", (event) => {
    const node = event.target.node, at = visible.indexOf(node);
    if (!node) return;
    const last = visible.length - 1;
    const targets = {ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 15, PageUp: at - 15, Home: 0, End: last};
    const to = targets[event.key];
    if (event.key === "Enter" || event.key === " ") open(node);
    else if (to !== undefined) point(visible[Math.min(last, Math.max(0, to))], true);
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || detail.open || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
    event.preventDefault();
    search.focus();
  });

  // The legend of the colours, and the share of each state.
  const used = new Set(nodes.flatMap((node) => node.steps.map(([step]) => step)));
  for (const step of data.steps.filter((name) => used.has(name))) {
    const item = make("li"), box = make("i");
    box.style.background = `var(--${step})`;
    item.append(box, `until ${step}`);
    byId("legend").append(item);
  }
  data.states.forEach((word, index) => {
    const count = nodes.reduce((sum, node) => sum + (node.state === index), 0);
    if (!count) return;
    const part = make("i", undefined, word);
    part.style.flexGrow = count;
    byId("share").append(part);
  });

  // Light and dark: the system decides until the user selects a theme. A page from a file may have no storage.
  const themes = ["auto", "light", "dark"], button = byId("theme");
  const remember = (value) => {
    try {
      if (value) localStorage.setItem("rollout-theme", value);
      return localStorage.getItem("rollout-theme");
    } catch {
      return value;
    }
  };
  const paint = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  };
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length];
    remember(next);
    paint(next);
  });
  const stored = remember();
  paint(themes.includes(stored) ? stored : "auto");

  axis.value = data.batches.length > 10 ? "batch" : "run";
  drawAll();
  for (const id of ["theme", "tools", "table"]) byId(id).hidden = false;
  arrange();
})();
