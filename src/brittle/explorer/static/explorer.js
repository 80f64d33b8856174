"use strict";
// What all pages share: light and dark, the base of addresses, and one way to ask the server.
const explorer = (() => {
  const root = document.documentElement;
  const recall = () => { try { return localStorage.getItem("brittle-theme"); } catch { return null; } };
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  if (recall()) root.dataset.theme = recall();

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const name = () => { button.textContent = isDark() ? "Light" : "Dark"; };
    button.hidden = false;
    name();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      name();
      try { localStorage.setItem("brittle-theme", root.dataset.theme); } catch { /* storage may be off */ }
    });
  });

  const base = () => document.body.dataset.base;

  // the answer of the server; an Error whose message is its sentence if it refuses
  const ask = async (path, options = {}) => {
    const answer = await fetch(base() + path, options);
    if (answer.ok) return answer;
    let sentence = `The server answered ${answer.status}.`;
    try { sentence = (await answer.json()).error || sentence; } catch { /* not JSON */ }
    throw Object.assign(new Error(sentence), { status: answer.status });
  };

  const make = (name, text = "", more = {}) => Object.assign(document.createElement(name), { textContent: text }, more);

  return { ask, base, isDark, make };
})();
