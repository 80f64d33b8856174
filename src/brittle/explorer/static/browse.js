"use strict";
// The pages of results: forms that keep the address, and a line that tells about the cell under the pointer or focus.
(() => {
  const swap = async (address, push) => {
    const focused = document.activeElement && document.activeElement.id;
    document.body.setAttribute("aria-busy", "true");
    let text;
    try {
      const answer = await fetch(address, { headers: { accept: "text/html" } });
      text = await answer.text();
    } catch {
      location.assign(address);
      return;
    } finally {
      document.body.removeAttribute("aria-busy");
    }
    const page = new DOMParser().parseFromString(text, "text/html");
    const fresh = page.querySelector("[data-swap]"), old = document.querySelector("[data-swap]");
    if (!fresh || !old) { location.assign(address); return; }
    if (push) history.pushState({ swapped: true }, "", address);
    document.title = page.title;
    old.replaceWith(fresh);
    wire();
    const again = focused && document.getElementById(focused);
    if (again) again.focus({ preventScroll: true });
  };

  const addressOf = (form) => {
    const kept = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value !== "") kept.append(name, value);
    return `${form.getAttribute("action")}?${kept}`;
  };

  const wire = () => {
    for (const form of document.querySelectorAll("form[data-browse]")) {
      form.classList.add("wired");
      form.addEventListener("change", (event) => {
        if (event.target.type === "number") return;  // the Enter key sends it
        if (event.target.name === "corruption" && form.elements.level) form.elements.level.value = "";
        swap(addressOf(form), true);
      });
      form.addEventListener("submit", (event) => { event.preventDefault(); swap(addressOf(form), true); });
    }
    for (const link of document.querySelectorAll("a[data-turn]")) {
      link.addEventListener("click", async (event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
        event.preventDefault();
        await swap(link.href, true);
        const top = document.querySelector(".found");
        if (top && top.getBoundingClientRect().top < 0) top.scrollIntoView();
      });
    }
  };

  addEventListener("popstate", () => { if (document.querySelector("[data-swap]")) swap(location.href, false); });

  const tell = (event) => {
    const cell = event.target.closest && event.target.closest("[data-tip]");
    const line = document.querySelector(".readout span");
    if (cell && line) line.textContent = cell.dataset.tip;
  };
  document.addEventListener("mouseover", tell);
  document.addEventListener("focusin", tell);

  // arrow keys move through the cells of a heat map
  document.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const cell = step && document.activeElement.closest(".cells td, .cells th");
    if (!cell) return;
    const rows = [...cell.closest("table").querySelectorAll("tbody tr")];
    const row = rows.indexOf(cell.parentElement) + step[0], column = cell.cellIndex + step[1];
    const next = rows[row] && rows[row].cells[column] && rows[row].cells[column].querySelector("a");
    if (next) { event.preventDefault(); next.focus(); }
  });

  // a picture that cannot be drawn leaves its place empty
  document.addEventListener("error", (event) => {
    if (event.target.tagName === "IMG") event.target.classList.add("missing");
  }, true);

  wire();
})();
