"use strict";
// The page of overlaps: the largest set follows the slider, and a pair of the matrix is drawn on a photograph.
(() => {
  const at = (id) => document.getElementById(id);
  const data = JSON.parse(at("overlap-data").textContent);
  const { names, steps, levels } = data, last = steps.length - 1;
  const slider = at("threshold"), matrix = at("matrix"), svg = at("sweep");
  const plain = (name) => name.replaceAll("_", " ");
  const path = (where, values) => `${explorer.base()}${where}?${new URLSearchParams(values)}`;

  const step = async (number) => {
    if (!steps[number]) {
      const answer = await explorer.ask(`/overlap/step?${new URLSearchParams({ matrix: data.matrix, threshold: number / last })}`);
      steps[number] = await answer.json();
    }
    return steps[number];
  };

  // the size of the set over the threshold, as stairs
  const drawSweep = (number) => {
    const x = (i) => (300 * i) / last, y = (size) => 78 - (70 * size) / names.length;
    let stairs = "";
    steps.forEach((one, i) => { if (one) stairs += stairs ? `V${y(one.members.length)}H${x(i)}` : `M${x(i)} ${y(one.members.length)}`; });
    const now = steps[number];
    svg.innerHTML = `<path class="stairs" d="${stairs}"/><line class="now" x1="${x(number)}" x2="${x(number)}" y1="2" y2="82"/>` +
      (now ? `<circle class="dot" cx="${x(number)}" cy="${y(now.members.length)}" r="4"/>` : "");
  };

  const show = async () => {
    const number = Number(slider.value), threshold = (number / last).toFixed(2);
    at("threshold-value").textContent = threshold;
    let now;
    try { now = await step(number); } catch (error) { at("ties").textContent = error.message; return; }
    if (Number(slider.value) !== number) return;
    const members = new Set(now.members), covered = new Set(now.covered);
    at("size").textContent = members.size;
    at("covered").textContent = covered.size;
    at("mean").textContent = now.mean === null ? "–" : now.mean.toFixed(2);
    at("ties").textContent = now.count > 1 ? `One of ${now.counted ? "" : "more than "}${now.count.toLocaleString("en")} sets of this size, that of the lowest mean overlap.` : "The only set of this size.";
    at("members").replaceChildren(...now.members.map((place) => explorer.make("li", plain(names[place]))));
    const rest = names.filter((_, place) => !covered.has(place)).map(plain);
    at("uncovered").textContent = rest.length ? `Not covered: ${rest.join(", ")}.` : "All are covered.";
    slider.setAttribute("aria-valuetext", `${threshold}, ${members.size} corruptions`);
    if (at("save")) at("save").href = path("/overlap/recipe", { matrix: data.matrix, threshold });
    for (const head of matrix.querySelectorAll("th")) {
      const place = Number(head.dataset.name);
      head.classList.toggle("member", members.has(place));
      head.classList.toggle("uncovered", !covered.has(place));
    }
    for (const cell of matrix.querySelectorAll("td")) {
      cell.classList.toggle("chosen", members.has(Number(cell.dataset.row)) && members.has(Number(cell.dataset.column)));
    }
    drawSweep(number);
    const address = new URL(location.href);
    address.searchParams.set("matrix", data.matrix);
    address.searchParams.set("threshold", threshold);
    history.replaceState(null, "", address);
  };
  slider.addEventListener("input", show);

  // a click on the stairs moves the slider
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    slider.value = Math.round((last * (event.clientX - box.left)) / box.width);
    show();
  });

  let pair = null;
  const draw = () => {
    if (!pair) return;
    ["a", "b"].forEach((side, i) => {
      const place = pair[i], image = at(`picture-${side}`), name = plain(names[place]);
      const wanted = path("/overlap/picture", { matrix: data.matrix, row: place, photo: at("photo").value });
      if (image.getAttribute("src") !== wanted) image.src = wanted;
      image.alt = `the photograph under ${name}`;
      at(`caption-${side}`).textContent = levels[place] ? `${name}, ${levels[place]}` : name;
    });
  };
  const look = (cell) => {
    pair = [Number(cell.dataset.row), Number(cell.dataset.column)];
    at("pair-title").textContent = cell.dataset.tip;
    draw();
  };
  at("photo").addEventListener("change", () => {
    if (pair) { draw(); return; }
    for (const side of ["a", "b"]) at(`picture-${side}`).src = path("/overlap/picture", { matrix: data.matrix, photo: at("photo").value });
  });
  let waiting = 0;
  matrix.addEventListener("mouseover", (event) => {
    const cell = event.target.closest("td");
    clearTimeout(waiting);
    if (cell) waiting = setTimeout(() => look(cell), 40);  // who crosses the matrix asks for nothing
  });
  matrix.addEventListener("click", (event) => { const cell = event.target.closest("td"); if (cell) { move(cell); look(cell); } });
  matrix.addEventListener("focusin", (event) => { const cell = event.target.closest("td"); if (cell) look(cell); });

  const move = (cell) => {
    for (const old of matrix.querySelectorAll('td[tabindex="0"]')) old.tabIndex = -1;
    cell.tabIndex = 0;
    cell.focus({ preventScroll: false });
  };
  matrix.addEventListener("keydown", (event) => {
    const go = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const cell = event.target.closest("td");
    if (!go || !cell) return;
    event.preventDefault();
    const next = matrix.querySelector(`td[data-row="${Number(cell.dataset.row) + go[0]}"][data-column="${Number(cell.dataset.column) + go[1]}"]`);
    if (next) move(next);
  });
  for (const side of ["a", "b"]) {
    const image = at(`picture-${side}`);
    image.addEventListener("error", () => image.classList.add("missing"));
    image.addEventListener("load", () => image.classList.remove("missing"));
  }

  show();
  const first = matrix.querySelector('td[tabindex="0"]');
  if (first) look(first);
})();
