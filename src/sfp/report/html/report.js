// Hovering, toggles and replays. The charts are SVG already; this only adds to them.
"use strict";
(() => {
  document.documentElement.classList.add("js");
  const charts = JSON.parse(document.getElementById("_chart-data").textContent);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const svgTag = "http://www.w3.org/2000/svg";

  const shown = (v) =>
    v == null ? "–" : Math.abs(v) >= 1e4 ? Math.round(v).toLocaleString("en")
      : String(Number(v.toPrecision(4)));
  const line = (classes, label, words) => {
    const row = document.createElement("div");
    const dot = document.createElement("i");
    dot.className = classes;
    const small = document.createElement("small");
    small.textContent = words[1] || "";
    row.append(dot, `${label} ${words[0]} `, small);
    return row;
  };
  const nearest = (values, x) => {
    let best = 0;
    values.forEach((v, i) => {
      if (Math.abs(v - x) < Math.abs(values[best] - x)) best = i;
    });
    return best;
  };

  function hovering(figure, chart, section) {
    const svg = figure.querySelector("svg");
    const names = JSON.parse(section.dataset.labels);
    const [left, top, right, bottom] = chart.box;
    const across = (x) =>
      left + ((x - chart.xr[0]) / (chart.xr[1] - chart.xr[0])) * (right - left);
    const down = (y) =>
      top + ((chart.yr[1] - y) / (chart.yr[1] - chart.yr[0])) * (bottom - top);
    const rule = document.createElementNS(svgTag, "line");
    rule.setAttribute("class", "rule");
    rule.setAttribute("y1", top);
    rule.setAttribute("y2", bottom);
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.setAttribute("role", "status");
    const look = (m) => `c${m % 7}`;
    const visible = () => chart.series.filter(
      (s) => !svg.querySelector(`.m${s.m}`).classList.contains("off"));
    const steps = (s) => [s.x, ...Object.values(s.seeds || {}).map((own) => own.x || [])];
    const grid = [...new Set(chart.series.flatMap((s) => steps(s).flat()))]
      .sort((a, b) => a - b);
    let at = null;

    function hide() {
      at = null;
      rule.remove();
      tip.remove();
    }
    function place(x, px) {
      rule.setAttribute("x1", px);
      rule.setAttribute("x2", px);
      svg.append(rule);
      figure.append(tip);
      const box = svg.getBoundingClientRect(), around = figure.getBoundingClientRect();
      const scale = box.width / 400;
      const room = figure.clientWidth - tip.offsetWidth;
      const beside = px * scale + 14;
      const flip = beside > room ? px * scale - tip.offsetWidth - 14 : beside;
      tip.style.left = `${Math.max(0, Math.min(flip, room))}px`;
      tip.style.top = `${box.top - around.top + 8}px`;
    }
    function showLine(x) {
      at = x;
      const head = document.createElement("b");
      head.textContent = chart.xr[1] <= 1 ? `${shown(x * 100)} % of the steps`
        : `step ${Math.round(x).toLocaleString("en")}`;
      tip.replaceChildren(head);
      for (const s of visible()) {
        const i = s.x.indexOf(x);
        if (i >= 0) {
          const ends = s.lo ? `[${shown(s.lo[i])}, ${shown(s.hi[i])}]` : `n = ${s.n}`;
          tip.append(line(look(s.m), names[s.m], [shown(s.v[i]), ends]));
        }
        for (const [seed, own] of Object.entries(s.seeds)) {
          const on = svg.querySelector(`.m${s.m} .s${seed}`);
          const j = (own.x || s.x).indexOf(x);
          if (j >= 0 && on && on.classList.contains("on"))
            tip.append(line(look(s.m), `seed ${seed}:`, [shown(own.v[j])]));
        }
      }
      place(x, across(x));
    }
    const dots = () => visible().flatMap((s) => s.x.map((x, i) => [s, i]))
      .filter(([s, i]) => s.x[i] != null && s.v[i] != null);
    function showDot(s, i) {
      const head = document.createElement("b");
      head.textContent = `step ${s.t[i].toLocaleString("en")}`;
      tip.replaceChildren(head, line(look(s.m), names[s.m],
        [`λ ${shown(s.x[i])}`, `return ${shown(s.v[i])}`]));
      place(s.x[i], across(s.x[i]));
    }
    function showPhase(px, py) {
      const far = ([s, i]) => Math.hypot(across(s.x[i]) - px, down(s.v[i]) - py);
      const all = dots();
      if (!all.length) return hide();
      showDot(...all.reduce((best, dot) => (far(dot) < far(best) ? dot : best)));
    }
    function pointer(event) {
      const box = svg.getBoundingClientRect();
      const px = ((event.clientX - box.left) / box.width) * 400;
      const py = ((event.clientY - box.top) / box.width) * 400;
      if (chart.kind === "phase") return showPhase(px, py);
      const x = chart.xr[0] + ((px - left) / (right - left)) * (chart.xr[1] - chart.xr[0]);
      showLine(grid[nearest(grid, x)]);
    }
    svg.addEventListener("pointermove", pointer);
    svg.addEventListener("pointerdown", pointer);
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") hide();
      if (!by) return;
      event.preventDefault();
      if (chart.kind === "phase") {
        const all = dots();
        if (!all.length) return;
        at = at == null ? (by > 0 ? 0 : all.length - 1) : at + by;
        at = Math.max(0, Math.min(all.length - 1, at));
        return showDot(...all[at]);
      }
      const i = at == null ? (by > 0 ? -1 : grid.length) : grid.indexOf(at);
      showLine(grid[Math.max(0, Math.min(grid.length - 1, i + by))]);
    });
  }

  function playing(figure, chart) {
    const [button, slider, output] = figure.querySelector(".player").children;
    const dots = figure.querySelectorAll(".walker");
    const last = Math.max(...chart.paths.map((p) => p.length / 2)) - 1;
    slider.max = last;
    let step = last, running = false, before = 0, seen = false;

    function draw() {
      const low = Math.floor(step), part = step - low;
      chart.paths.forEach((p, k) => {
        const end = p.length / 2 - 1;
        const i = Math.min(low, end), j = Math.min(low + 1, end);
        dots[k].setAttribute("cx", p[2 * i] * (1 - part) + p[2 * j] * part);
        dots[k].setAttribute("cy", -(p[2 * i + 1] * (1 - part) + p[2 * j + 1] * part));
      });
      slider.value = step;
      output.textContent = `step ${low}`;
    }
    function frame(now) {
      if (!running) return;
      // A frame's time may lie before the click that asked for it.
      step = Math.min(last, step + Math.max(0, now - before) * 0.04);
      before = now;
      draw();
      if (step >= last) return stop();
      requestAnimationFrame(frame);
    }
    function stop() {
      running = false;
      button.textContent = "Play";
      figure.classList.remove("playing");
    }
    function start() {
      if (step >= last) step = 0;
      running = true;
      before = performance.now();
      button.textContent = "Pause";
      figure.classList.add("playing");
      requestAnimationFrame(frame);
    }
    button.addEventListener("click", () => (running ? stop() : start()));
    slider.addEventListener("input", () => {
      stop();
      step = Number(slider.value);
      draw();
    });
    draw();
    if (still) return;
    new IntersectionObserver(([entry]) => {
      if (!entry.isIntersecting) stop();
      else if (!seen) { seen = true; start(); }
    }, { threshold: 0.6 }).observe(figure);
  }

  function toggles(section) {
    section.addEventListener("change", (event) => {
      const { m, s } = event.target.dataset;
      const on = event.target.checked;
      if (m !== undefined)
        section.querySelectorAll(`.m.m${m}, .replay.m${m}`).forEach((g) => g.classList.toggle("off", !on));
      if (s === "all")
        section.querySelectorAll("[data-s]").forEach((box) => { box.checked = on; });
      if (s !== undefined) {
        const which = s === "all" ? ".seed" : `.seed.s${s}`;
        section.querySelectorAll(which).forEach((l) => l.classList.toggle("on", on));
        const boxes = [...section.querySelectorAll("[data-s]:not([data-s=all])")];
        section.querySelector("[data-s=all]").checked = boxes.every((b) => b.checked);
      }
    });
  }

  const value = (cell) => {
    const words = cell.textContent.trim();
    const plain = words.replace(/[,%\s]/g, "");
    if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain)) return Number(plain);
    const first = words.replace(/,/g, "").match(/^\[?(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)/i);
    return first ? Number(first[1]) : words === "–" ? null : words;
  };
  const order = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  };
  // Rows are sorted within the groups that lines above them make.
  function sorting(table) {
    const heads = [...table.querySelectorAll("thead th")];
    const sort = (head, i) => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      const groups = [[]];
      for (const row of table.tBodies[0].rows) {
        if (row.classList.contains("group")) groups.push([row]);
        else groups[groups.length - 1].push(row);
      }
      for (const group of groups) {
        const above = group[0] && group[0].classList.contains("group") ? 1 : 0;
        const rows = group.slice(above).map((row) => [value(row.cells[i]), row]);
        rows.sort(([a], [b]) => (a === null || b === null ? 1 : sign) * order(a, b));
        table.tBodies[0].append(...group.slice(0, above), ...rows.map(([, row]) => row));
      }
    };
    heads.forEach((head, i) => {
      head.tabIndex = 0;
      head.title = "sort by this column";
      head.addEventListener("click", () => sort(head, i));
      head.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        sort(head, i);
      });
    });
  }

  // The SVG with the styles that it has on this page, drawn at three times its size.
  const styled = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity",
    "font", "display", "stroke-linejoin", "text-anchor"];
  function saving(figure) {
    const button = figure.querySelector(".png"), svg = figure.querySelector("svg");
    if (!button || !svg) return;
    button.addEventListener("click", () => {
      const copy = svg.cloneNode(true), box = svg.viewBox.baseVal;
      const from = [svg, ...svg.querySelectorAll("*")];
      [copy, ...copy.querySelectorAll("*")].forEach((node, i) => {
        const has = getComputedStyle(from[i]);
        styled.forEach((name) => node.style.setProperty(name, has.getPropertyValue(name)));
      });
      copy.setAttribute("xmlns", svgTag);
      copy.setAttribute("width", box.width * 3);
      copy.setAttribute("height", box.height * 3);
      const picture = new Image();
      picture.onload = () => {
        const canvas = document.createElement("canvas");
        canvas.width = box.width * 3;
        canvas.height = box.height * 3;
        const pen = canvas.getContext("2d");
        pen.fillStyle = getComputedStyle(document.body).backgroundColor;
        pen.fillRect(0, 0, canvas.width, canvas.height);
        pen.drawImage(picture, 0, 0);
        const link = document.createElement("a");
        const name = figure.querySelector("figcaption span").firstChild.textContent;
        link.download = `${name.replace(/[^\w.-]+/g, "-").slice(0, 80)}.png`;
        link.href = canvas.toDataURL("image/png");
        link.click();
      };
      picture.src = "data:image/svg+xml;charset=utf-8,"
        + encodeURIComponent(new XMLSerializer().serializeToString(copy));
    });
  }

  document.querySelectorAll("table").forEach((table) => {
    if (table.tHead && table.tBodies[0].rows.length > 1) sorting(table);
  });
  document.querySelectorAll("figure").forEach(saving);
  document.querySelectorAll("section[data-labels]").forEach((section) => {
    toggles(section);
    section.querySelectorAll("figure[data-chart]").forEach((figure) => {
      const chart = charts[figure.dataset.chart];
      if (chart.kind === "replay") playing(figure, chart);
      else hovering(figure, chart, section);
    });
  });
  const unfold = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") target.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
