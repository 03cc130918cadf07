// Hovering, toggles and replays. The charts are SVG already; this only adds to them.
"use strict";
(() => {
  document.documentElement.classList.add("js");
  const charts = JSON.parse(document.getElementById("chart-data").textContent);
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
