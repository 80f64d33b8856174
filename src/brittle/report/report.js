"use strict";
(() => {
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  const make = (name, text, more = {}) => Object.assign(document.createElement(name), { textContent: text }, more);

  // light and dark
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
      const buttons = items.map((item, i) => {
        const button = make("button", item.firstElementChild.textContent, { type: "button" });
        button.addEventListener("click", () => choose(i));
        return button;
      });
      const choose = (index) => {
        pick(index);
        buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === index)));
      };
      bar.append(...buttons);
      choose(0);
    }
    pick(0);
    box.prepend(bar);
  }

  // tables sorted by a click on a heading
  for (const table of all("table.sortable")) {
    const heads = all("thead th", table), body = table.tBodies[0];
    heads.forEach((head, column) => {
      const button = make("button", head.textContent, { type: "button" });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const up = now === "descending" || (now === null && column < 2);
        const value = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent;
        const rows = [...body.rows].sort((a, b) => {
          const x = value(a), y = value(b), number = Number(x) - Number(y);
          return Number.isNaN(number) ? x.localeCompare(y) : number;
        });
        body.append(...(up ? rows : rows.reverse()));
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
      });
    });
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
  const tell = (event) => {
    const owner = event.target.closest && event.target.closest("[data-tip]");
    if (!owner) return hide();
    tip.textContent = owner.dataset.tip;
    tip.hidden = false;
    const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    const y = event.clientY + tip.offsetHeight + 22 > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 16;
    tip.style.transform = `translate(${Math.max(8, x)}px, ${y}px)`;
  };
  document.addEventListener("pointermove", tell);
  document.addEventListener("pointerdown", tell);
  document.addEventListener("pointerleave", hide);
  addEventListener("scroll", hide, { passive: true });
})();
