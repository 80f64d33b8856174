"use strict";
(() => {
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  const make = (name, text, more = {}) => Object.assign(document.createElement(name), { textContent: text }, more);
  const button = (text, label, act) => {
    const made = make("button", text, { type: "button" });
    if (label) made.setAttribute("aria-label", label);
    made.addEventListener("click", act);
    return made;
  };

  // light and dark, remembered
  const root = document.documentElement, theme = document.getElementById("theme");
  const recall = () => { try { return localStorage.getItem("brittle-theme"); } catch { return null; } };
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const setTheme = (name) => { if (name) root.dataset.theme = name; theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.hidden = false;
  setTheme(root.dataset.theme || recall());
  theme.addEventListener("click", () => {
    const name = isDark() ? "light" : "dark";
    setTheme(name);
    try { localStorage.setItem("brittle-theme", name); } catch { /* a file may not keep anything */ }
  });

  // one part at a time, the one that the address names
  const parts = all(".part");
  const show = (part) => {
    for (const other of parts) other.hidden = other !== part;
    for (const list of all(".toc ol")) list.hidden = list.dataset.part !== part.id;
    for (const tab of all(".tab")) {
      if (tab.hash === "#" + part.id) tab.setAttribute("aria-current", "true");
      else tab.removeAttribute("aria-current");
    }
  };
  const follow = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const part = target && target.closest(".part");
    if (part) { show(part); target.scrollIntoView(); }
  };
  if (parts.length > 1) {
    show(parts[0]);
    addEventListener("hashchange", follow);
    follow();
  }

  // views: buttons for a few, a list for many
  for (const box of all(".views")) {
    const items = [...box.children];
    const pick = (index) => items.forEach((item, i) => { item.hidden = i !== index; item.open = true; });
    const bar = make("div", box.dataset.label + ": ", { className: "switch" });
    if (items.length > 6) {
      box.classList.add("many");
      const list = make("select", "");
      list.setAttribute("aria-label", box.dataset.label);
      items.forEach((item) => list.append(make("option", item.firstElementChild.textContent)));
      list.addEventListener("change", () => pick(list.selectedIndex));
      bar.append(list);
    } else {
      const choose = (index) => {
        pick(index);
        buttons.forEach((one, i) => one.setAttribute("aria-pressed", String(i === index)));
      };
      const buttons = items.map((item, i) => button(item.firstElementChild.textContent, "", () => choose(i)));
      bar.append(...buttons);
      choose(0);
    }
    pick(0);
    box.prepend(bar);
  }

  // tables sorted by a click on a heading; the words of a cell, or the number it begins with, or data-v
  const valueOf = (cell) => {
    if (!cell) return "";
    const text = cell.dataset.v ?? cell.textContent.trim().replace("−", "-");
    const number = /^[<>≥≤+\s]*(-?[\d,]*\.?\d+(?:e[+-]?\d+)?)/i.exec(text);
    return number ? Number(number[1].replaceAll(",", "")) : text;
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === "number" || typeof b === "number") return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b);
  };
  for (const table of all("table.sortable")) {
    const body = table.tBodies[0], first = table.tHead.rows[0], last = table.tHead.rows[table.tHead.rows.length - 1];
    const heads = first === last ? [...first.cells] : [first.cells[0], ...last.cells];
    if (body.rows.length < 2) continue;
    heads.forEach((head, column) => {
      const sort = make("button", "", { type: "button", className: "sort" });
      sort.append(...head.childNodes);
      head.append(sort);
      sort.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort"), words = column === 0 || !head.classList.contains("num");
        const up = now === "descending" || (now === null && words);
        const order = [...body.rows].map((row) => [valueOf(row.cells[column]), row]);
        order.sort((a, b) => (up ? 1 : -1) * compare(a[0], b[0]));
        body.append(...order.map((pair) => pair[1]));
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
      });
    });
  }

  // saving: a chart as SVG and its numbers as CSV, made here and handed over as a data URI
  const save = (name, kind, text) => {
    const link = make("a", "", { href: `data:${kind};charset=utf-8,${encodeURIComponent(text)}`, download: name });
    document.body.append(link);
    link.click();
    link.remove();
  };
  const SVG = new DOMParser().parseFromString("<svg></svg>", "text/html").querySelector("svg").namespaceURI;
  const shape = (name, attributes, text) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const LOOK = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font-size", "font-weight", "font-family", "text-anchor"];
  const styled = (from, to) => {
    const look = getComputedStyle(from);
    for (const name of LOOK) to.style.setProperty(name, look.getPropertyValue(name));
    [...from.children].forEach((child, i) => styled(child, to.children[i]));
  };
  const clear = (colour) => /^(transparent|rgba\(.*, 0\))$/.test(colour);
  const words = (node, box, group) => {  // the text of HTML, line by line, where it stands
    const look = getComputedStyle(node.parentNode), range = document.createRange(), text = node.textContent;
    let line = null;
    for (let i = 0; i < text.length; i++) {
      range.setStart(node, i);
      range.setEnd(node, i + 1);
      const at = range.getClientRects()[0];
      if (!at) continue;
      if (!line || Math.abs(at.top - line.top) > 2) {
        line = { top: at.top, shape: shape("text", { x: at.left - box.left, y: at.bottom - box.top - 0.26 * at.height, fill: look.color, "font-size": look.fontSize, "font-weight": look.fontWeight, "font-family": look.fontFamily }, "") };
        group.append(line.shape);
      }
      line.shape.textContent += text[i];
    }
  };
  const drawn = (node, box, group) => {  // boxes and words of HTML as shapes
    if (node.nodeType === Node.TEXT_NODE) return node.textContent.trim() && words(node, box, group);
    if (node.nodeType !== Node.ELEMENT_NODE || node.closest(".save")) return;
    const at = node.getBoundingClientRect(), look = getComputedStyle(node);
    if (!at.width || !at.height || look.visibility === "hidden") return;
    const place = { x: at.left - box.left, y: at.top - box.top, width: at.width, height: at.height };
    if (node instanceof SVGSVGElement) {
      const copy = node.cloneNode(true);
      styled(node, copy);
      for (const [key, value] of Object.entries(place)) copy.setAttribute(key, value);
      group.append(copy);
      return;
    }
    const ring = look.borderTopStyle === "solid" && parseFloat(look.borderTopWidth) > 0 && parseFloat(look.borderRadius) > 0;
    if (!clear(look.backgroundColor) || ring) {
      const round = /%$/.test(look.borderRadius) ? at.width / 2 : parseFloat(look.borderRadius) || 0;
      group.append(shape("rect", { ...place, rx: round, fill: clear(look.backgroundColor) ? "none" : look.backgroundColor, opacity: look.opacity, stroke: ring ? look.borderTopColor : "none", "stroke-width": ring ? look.borderTopWidth : 0 }));
    }
    for (const child of node.childNodes) drawn(child, box, group);
  };
  const asSvg = (figure) => {
    const own = figure.querySelector(":scope > svg.plot"), look = getComputedStyle(document.body);
    const caption = figure.querySelector(":scope > figcaption b");
    let picture;
    if (own) {
      const [, , width, height] = own.getAttribute("viewBox").split(" ").map(Number);
      picture = shape("svg", { xmlns: SVG, viewBox: `0 0 ${width} ${height + 24}`, width: 2 * width, height: 2 * (height + 24) });
      const copy = own.cloneNode(true);
      styled(own, copy);
      all(".hit", copy).forEach((hit) => hit.remove());
      for (const [key, value] of Object.entries({ y: 24, width, height })) copy.setAttribute(key, value);
      picture.append(shape("rect", { width: "100%", height: "100%", fill: look.backgroundColor }), copy);
      if (caption) picture.append(shape("text", { x: 8, y: 16, fill: look.color, "font-size": 12, "font-weight": 650, "font-family": look.fontFamily }, caption.textContent));
    } else {
      const box = figure.getBoundingClientRect();
      picture = shape("svg", { xmlns: SVG, viewBox: `0 0 ${box.width} ${box.height}`, width: box.width, height: box.height });
      picture.append(shape("rect", { width: "100%", height: "100%", fill: look.backgroundColor }));
      drawn(figure, box, picture);
    }
    return new XMLSerializer().serializeToString(picture);
  };
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const plain = (text) => text.replace(/\s+/g, " ").trim().replace(/^−/, "-");
  const asCsv = (figure) => {
    if (figure.dataset.csv !== undefined) return figure.dataset.csv;
    const table = figure.querySelector("table");
    const rows = table
      ? [...table.rows].map((row) => [...row.cells].map((cell) => plain(cell.firstChild && cell.tagName === "TD" ? cell.firstChild.textContent : cell.textContent)))
      : all(".bar-group", figure).flatMap((group) => {
        const title = plain(group.querySelector("h4").firstElementChild.textContent);
        return all(".bar-row", group).flatMap((row) => {
          const name = row.querySelector(".bar-name"), value = row.querySelector(".bar-value"), model = name ? plain(name.textContent) : "";
          const own = value.textContent.trim() ? [[title, model, "", ...plain(value.textContent).match(/-?[\d.]+/g)]] : [];
          return own.concat(all(".dot", row).map((dot) => [title, model, ...dot.dataset.tip.split("\n").map((line) => plain(line).replace(/\s*%$/, ""))]));
        });
      });
    if (!table) rows.unshift(["group", "model", "corruption", "accuracy in percent", "low", "high"]);
    return rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
  };
  const fileName = (figure) => {
    const caption = figure.querySelector(":scope > figcaption b"), view = figure.closest(".view");
    const section = figure.closest(".part > section");
    const names = [section && section.id, view && view.firstElementChild.textContent, caption ? caption.textContent : figure.dataset.name];
    return names.filter(Boolean).join(" ").replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 80);
  };
  for (const figure of all("figure.chart")) {
    const what = (figure.querySelector(":scope > figcaption b") || {}).textContent || figure.dataset.name || "chart";
    const bar = make("div", "", { className: "save" });
    bar.append(
      button("SVG", `save ${what} as SVG`, () => save(fileName(figure) + ".svg", "image/svg+xml", asSvg(figure))),
      button("CSV", `save ${what} as CSV`, () => save(fileName(figure) + ".csv", "text/csv", asCsv(figure))),
    );
    figure.append(bar);
  }

  // what can be copied
  for (const box of all(".copy")) {
    const text = box.querySelector("pre");
    const copy = button("Copy", "copy this text", async () => {
      try {
        await navigator.clipboard.writeText(text.textContent);
      } catch {  // a file may not use the clipboard: the text is marked, and the browser asked to copy it
        const range = document.createRange();
        range.selectNodeContents(text);
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        document.execCommand("copy");
      }
      copy.textContent = "Copied";
      setTimeout(() => { copy.textContent = "Copy"; }, 1500);
    });
    box.append(copy);
  }

  // tips: what the browser would show late and small, at once and larger
  for (const title of all(".hit > title")) {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }
  for (const element of all("main [title]")) {
    element.dataset.tip = element.title;
    element.removeAttribute("title");
  }
  const tip = make("div", "", { id: "tip", hidden: true });
  document.body.append(tip);
  const hide = () => { tip.hidden = true; };
  const place = (owner, clientX, clientY) => {
    tip.textContent = owner.dataset.tip;
    tip.hidden = false;
    const x = Math.min(clientX + 14, innerWidth - tip.offsetWidth - 8);
    const y = clientY + tip.offsetHeight + 22 > innerHeight ? clientY - tip.offsetHeight - 10 : clientY + 16;
    tip.style.transform = `translate(${Math.max(8, x)}px, ${y}px)`;
  };
  const tell = (event) => {
    const owner = event.target.closest && event.target.closest("[data-tip]");
    if (owner) place(owner, event.clientX, event.clientY);
    else hide();
  };
  document.addEventListener("pointermove", tell);
  document.addEventListener("pointerdown", tell);
  document.addEventListener("pointerleave", hide);
  document.addEventListener("focusin", (event) => {
    const owner = event.target.closest("[data-tip]"), at = owner && owner.getBoundingClientRect();
    if (owner && owner.matches(":focus-visible")) place(owner, at.left, at.bottom);
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  addEventListener("scroll", hide, { passive: true });
})();
