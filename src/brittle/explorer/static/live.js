"use strict";
(() => {
  const { ask, base, make } = explorer;
  const get = (id) => document.getElementById(id);
  const start = JSON.parse(get("start").textContent);
  const corruptions = new Map(start.corruptions.map((each) => [each.id, each]));
  const FINE = 0.05, COARSE = 0.5, SIZES = [32, 64, 128, 224, 299, 384, 512], USUAL = { id: "imagenet-c/snow", severity: 1 };
  const percent = (share) => (share >= 0.995 ? "> 99 %" : share < 0.005 ? "< 1 %" : `${Math.round(100 * share)} %`);
  const point = (value) => value.toFixed(2);
  const number = (value) => String(Math.round(value * 100) / 100);
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  // what is on the screen
  const pictures = new Map(start.pictures.map((each) => [each.id, each]));
  const screen = { picture: null, layers: [], active: 0, seed: 0, size: null };
  let models = start.models, data = start.data, loaded = start.loaded, strips = models.map(() => null);

  const query = (more = {}, layers = screen.layers) => {
    const parameters = new URLSearchParams({ picture: screen.picture.id, seed: screen.seed });
    if (screen.size) parameters.set("size", screen.size);
    for (const layer of layers) parameters.append("c", `${layer.id}:${layer.severity}`);
    for (const [key, value] of Object.entries(more)) parameters.set(key, value);
    return parameters.toString();
  };

  // one question of a kind at a time: what changed meanwhile is asked next, and what is older never
  const channel = (work) => {
    let busy = false, waiting = null;
    return async (...job) => {
      waiting = job;
      if (busy) return;
      busy = true;
      while (waiting) {
        const now = waiting;
        waiting = null;
        try { await work(...now); } catch (error) { tell(error.message, true); }
      }
      busy = false;
    };
  };

  const tell = (text, isError = false) => {
    get("message").textContent = text;
    get("message").classList.toggle("error", isError);
  };

  // the picture
  let shownUrl = "";
  const showPicture = channel(async () => {
    const slow = setTimeout(() => { get("wait").textContent = "first use of this corruption: compiling it, once"; get("wait").hidden = false; }, 700);
    try {
      const answer = await ask(`/live/picture?${query()}`);
      const facts = JSON.parse(answer.headers.get("x-facts"));
      const url = URL.createObjectURL(await answer.blob());
      const image = get("shown");
      image.src = url;
      await image.decode().catch(() => {});
      URL.revokeObjectURL(shownUrl);
      shownUrl = url;
      image.classList.toggle("tiny", facts.width < 128);
      image.alt = `${screen.picture.name}${screen.layers.map((layer) => `, ${corruptions.get(layer.id).name} at severity ${number(layer.severity)}`).join("")}`;
      showFacts(facts);
      if (get("message").classList.contains("error")) tell("");
    } finally {
      clearTimeout(slow);
      get("wait").hidden = true;
    }
  });

  const showFacts = (facts) => {
    const rows = [["size", `${facts.width}×${facts.height} px`]];
    for (const layer of facts.layers) {
      const values = Object.entries(layer.parameters).map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`).join(", ");
      if (values) rows.push([corruptions.get(layer.id).name, values]);
    }
    rows.push(["PSNR", facts.psnr], ["SSIM", facts.ssim]);
    get("facts").replaceChildren(...rows.map(([name, value]) => {
      const row = make("div");
      row.append(make("dt", name), make("dd", value));
      return row;
    }));
  };

  // the models
  const cards = models.map((model, i) => {
    const card = make("article", "", { className: `panel model m${i % 6}` });
    card.append(make("header"), make("p", "", { className: "verdict" }), make("ul", "", { className: "bars" }), make("p", "", { className: "fails" }), make("p", "", { className: "sees" }));
    get("models").append(card);
    return card;
  });
  document.querySelector(".strip-box").hidden = !models.length;
  if (!models.length) get("models").append(make("p", "No model is loaded: name one with -m to see what it predicts.", { className: "note" }));

  const pills = models.map((_, i) => {
    const pill = make("span", "", { className: `pill m${i % 6}` });
    get("pills").append(pill);
    return pill;
  });
  const head = (card, name, badge = "", kind = "") => card.children[0].replaceChildren(make("b", name), make("span", badge, { className: `badge ${kind}` }));

  const showModel = (i, prediction) => {
    const [, verdict, bars, , sees] = cards[i].children;
    if (prediction.status === "failed") return showError(i, prediction.error);
    if (prediction.status === "loading") {
      head(cards[i], models[i].name);
      verdict.replaceChildren(make("span", "loading the model…", { className: "loading" }));
      return;
    }
    const [first] = prediction.top;
    const badge = prediction.known ? (prediction.right ? ["✓ right", "good"] : [`✗ it is ${prediction.target}`, "bad"]) : prediction.flipped ? [`✗ was ${prediction.clean.name}`, "bad"] : ["✓ as when clean", "good"];
    head(cards[i], prediction.name, ...badge);
    verdict.replaceChildren(make("span", first.name), make("small", ` ${percent(first.share)}`));
    bars.replaceChildren(...prediction.top.map((each) => {
      const row = make("li", "", { className: each.name === prediction.target ? "hit" : "" });
      const track = make("div", "", { className: "track" }), fill = make("div", "", { className: "fill" });
      fill.style.width = `${100 * each.share}%`;
      track.append(fill);
      row.append(make("span", each.name, { className: "label", title: each.name }), track, make("span", percent(each.share), { className: "share" }));
      return row;
    }));
    pills[i].textContent = `${first.name} ${percent(first.share)}`;
    pills[i].classList.toggle("bad", badge[1] === "bad");
    sees.textContent = prediction.sees ? `It sees the picture at ${prediction.sees}×${prediction.sees} px.` : "";
    latest[i] = `${prediction.name}: ${first.name}, ${percent(first.share)}${badge[1] === "bad" ? `, ${badge[0].slice(2)}` : ""}`;
    announce();
  };

  const showError = (i, text) => {
    const [, verdict, bars, fails, sees] = cards[i].children;
    head(cards[i], models[i].name, "failed", "bad");
    pills[i].textContent = "";
    verdict.replaceChildren();
    bars.replaceChildren(make("li", text, { className: "error" }));
    for (const part of [fails, sees]) part.replaceChildren();
  };

  const latest = models.map(() => "");
  let announcing;
  const announce = () => {
    clearTimeout(announcing);
    announcing = setTimeout(() => { get("live-region").textContent = `Severity ${number(severity())}. ${latest.filter(Boolean).join(". ")}`; }, 700);
  };

  const showPredictions = models.map((_, i) => channel(async () => {
    if (models[i].status === "loading") return showModel(i, { status: "loading" });
    try {
      showModel(i, await (await ask(`/live/predictions?${query({ model: i })}`)).json());
    } catch (error) { showError(i, error.message); }
  }));

  // the strip along the severity axis, and where it fails
  const askStrip = models.map((_, i) => channel(async () => {
    const fails = cards[i].children[3];
    if (!screen.layers.length || models[i].status !== "ready") { strips[i] = null; fails.replaceChildren(); drawStrip(); return; }
    const asked = stripKey();
    try {
      const strip = await (await ask(`/live/strip?${query({ model: i, place: screen.active })}`)).json();
      if (asked !== stripKey()) return;
      strips[i] = strip;
      if (strip.status === "ready") showFailure(i, strip);
    } catch { strips[i] = null; fails.replaceChildren(); }
    drawStrip();
  }));
  const stripKey = () => JSON.stringify([screen.picture.id, screen.seed, screen.size, screen.active, screen.layers.map((layer, i) => [layer.id, i === screen.active ? 0 : layer.severity])]);

  const showFailure = (i, strip) => {
    const fails = cards[i].children[3], { failed, becomes } = strip.failure;
    if (failed === null) fails.replaceChildren(make("span", `holds up to ${number(highest())}, the strongest`));
    else if (failed === 0) fails.replaceChildren(make("span", screen.layers.length > 1 ? `without ${corruptions.get(layer().id).name} it is ${becomes} already` : `takes the clean picture for ${becomes}`));
    else {
      const jump = make("button", point(failed), { type: "button", title: "Jump to the failure point" });
      jump.setAttribute("aria-label", `Jump to the failure point, severity ${number(failed)}`);
      jump.addEventListener("click", () => setSeverity(failed));
      fails.replaceChildren(make("span", "flips at "), jump, make("span", ` to ${becomes}`));
    }
  };

  const svg = (name, attributes, text = "") => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text) element.textContent = text;
    return element;
  };
  const PAD = 12; // half of the slider's thumb
  const place = (value) => { const width = get("strip").clientWidth; return PAD + (width - 2 * PAD) * value / highest(); };

  const drawStrip = () => {
    const strip = get("strip"), width = strip.clientWidth, height = strip.clientHeight, top = 16, bottom = height - 4;
    if (!width) return;
    const y = (share) => bottom - (bottom - top) * share;
    const parts = [0, 0.5, 1].map((share) => svg("line", { class: "rule", x1: PAD, x2: width - PAD, y1: y(share), y2: y(share) }));
    const marks = [];
    strips.forEach((shown, i) => {
      if (!shown || shown.status !== "ready") return;
      const path = shown.severities.map((value, k) => `${k ? "L" : "M"}${place(value).toFixed(1)} ${y(shown.confidence[k]).toFixed(1)}`).join("");
      const group = svg("g", { class: `m${i % 6}` });
      group.append(svg("path", { class: "curve", d: path }));
      parts.push(group);
      const { failed } = shown.failure;
      if (!failed) return;
      const x = place(failed), over = svg("g", { class: `m${i % 6}` });
      over.append(svg("line", { class: "fail", x1: x, x2: x, y1: top - 2, y2: bottom }), svg("circle", { class: "dot", cx: x, cy: bottom, r: 4 }));
      over.append(svg("text", { class: "at", x, y: 10, "text-anchor": x < 40 ? "start" : x > width - 40 ? "end" : "middle" }, point(failed)));
      marks.push(over);
    });
    const ready = strips.filter((shown) => shown?.status === "ready"), targets = [...new Set(ready.map((shown) => shown.target))];
    get("strip-title").textContent = targets.length ? `How sure of “${targets.join("” and “")}”, along the severity axis` : models.length ? "How sure, along the severity axis…" : "";
    const x = place(severity());
    strip.setAttribute("viewBox", `0 0 ${width} ${height}`);
    strip.replaceChildren(...parts, svg("line", { class: "here", x1: x, x2: x, y1: top - 4, y2: height }), ...marks);
  };

  const severityAt = (event) => {
    const box = get("strip").getBoundingClientRect();
    const value = clamp((event.clientX - box.left - PAD) / (box.width - 2 * PAD), 0, 1) * highest();
    const failures = strips.map((shown) => shown && shown.status === "ready" && shown.failure.failed).filter(Boolean);
    const near = failures.find((failed) => Math.abs(place(failed) - (event.clientX - box.left)) < 7);
    return near || Math.round(value * 100) / 100;
  };
  get("strip").addEventListener("pointerdown", (event) => {
    if (!screen.layers.length) return;
    get("strip").setPointerCapture(event.pointerId);
    setSeverity(severityAt(event));
  });
  get("strip").addEventListener("pointermove", (event) => { if (get("strip").hasPointerCapture(event.pointerId)) setSeverity(severityAt(event)); });

  // the severity of the active layer
  const layer = () => screen.layers[screen.active];
  const severity = () => (layer() ? layer().severity : 0);
  const highest = () => (layer() ? corruptions.get(layer().id).highest : 5);
  const setSeverity = (value) => {
    if (!layer()) return;
    layer().severity = clamp(value, 0, highest());
    showSeverity();
    refresh(false);
  };
  const showSeverity = () => {
    const slider = get("severity"), value = severity();
    slider.max = highest();
    slider.value = value;
    slider.disabled = get("exact").disabled = !layer();
    slider.style.setProperty("--part", `calc(${PAD}px + (100% - ${2 * PAD}px) * ${value / highest()})`);
    slider.setAttribute("aria-valuetext", layer() ? `${corruptions.get(layer().id).name}, severity ${number(value)} of ${highest()}` : "no corruption");
    if (document.activeElement !== get("exact")) get("exact").value = number(value);
    get("exact").max = highest();
    get("highest").textContent = `${highest()} strongest`;
    const chip = document.querySelector(".chip.active .value");
    if (chip) chip.textContent = number(value);
    drawStrip();
  };
  get("severity").addEventListener("input", (event) => setSeverity(Math.round(event.target.value * 100) / 100));
  get("exact").addEventListener("input", (event) => { if (event.target.value !== "" && event.target.checkValidity()) setSeverity(Number(event.target.value)); });
  get("exact").addEventListener("blur", showSeverity);

  const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };
  document.addEventListener("keydown", (event) => {
    const free = event.target === document.body || event.target === get("severity") || event.target.closest?.(".strip");
    if (!free || event.ctrlKey || event.metaKey || event.altKey || !layer()) return;
    let value = null;
    if (event.key in steps && (event.target === get("severity") || event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      const step = event.shiftKey ? COARSE : FINE;
      value = Math.round((severity() + steps[event.key] * step) / FINE) * FINE;
    } else if (event.target === get("severity")) {
      value = { Home: 0, End: highest(), PageUp: severity() + 1, PageDown: severity() - 1 }[event.key] ?? null;
    }
    if (value === null) return;
    event.preventDefault();
    setSeverity(Math.round(value * 100) / 100);
  });

  // the stack
  const showChips = () => {
    get("chips").replaceChildren(...screen.layers.map((each, i) => {
      const about = corruptions.get(each.id);
      const chip = make("span", "", { className: `chip f-${about.family}${i === screen.active ? " active" : ""}` });
      const name = make("button", "", { type: "button", className: "name" }), off = make("button", "×", { type: "button", className: "off" });
      name.append(make("b", about.name), " ", make("span", number(each.severity), { className: "value" }));
      name.setAttribute("aria-pressed", String(i === screen.active));
      off.setAttribute("aria-label", `Take ${about.name} off`);
      name.addEventListener("click", () => { screen.active = i; showStack(); refresh(); });
      off.addEventListener("click", () => { screen.layers.splice(i, 1); screen.active = clamp(screen.active - (i < screen.active ? 1 : 0), 0, Math.max(0, screen.layers.length - 1)); showStack(); refresh(); });
      chip.append(name, off);
      return chip;
    }));
    get("about").textContent = layer() ? corruptions.get(layer().id).summary : "No corruption yet: choose one from the list.";
  };
  const showStack = () => {
    showChips();
    showSeverity();
    for (const option of get("list").querySelectorAll(".option")) option.setAttribute("aria-selected", String(screen.layers.some((each) => each.id === option.dataset.id)));
  };
  const adding = (yes) => get("add").setAttribute("aria-pressed", String(yes));
  get("add").addEventListener("click", () => {
    const on = get("add").getAttribute("aria-pressed") !== "true";
    adding(on);
    if (on) { get("search").focus(); tell("Choose the corruption to stack on top."); } else tell("");
  });
  const choose = (id, at = null) => {
    const add = get("add").getAttribute("aria-pressed") === "true" || !screen.layers.length;
    const about = corruptions.get(id), usual = Math.round(about.highest * 50) / 100;
    if (add) { screen.layers.push({ id, severity: at ?? usual }); screen.active = screen.layers.length - 1; } else screen.layers[screen.active] = { id, severity: at ?? (Math.min(severity(), about.highest) || usual) };
    adding(false);
    tell("");
    showStack();
    refresh();
  };

  // the list of all corruptions
  let current = null;
  const options = [];
  for (const family of start.families) {
    const group = make("div", "", { className: `f-${family}` });
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", family);
    group.append(make("div", family, { className: "family-name" }));
    group.lastChild.setAttribute("aria-hidden", "true");
    for (const each of start.corruptions.filter((one) => one.family === family)) {
      const option = make("div", "", { className: "option", id: `o-${each.id.replace("/", "-")}`, title: each.summary });
      option.dataset.id = each.id;
      option.dataset.text = `${each.name} ${each.id} ${family}`.toLowerCase();
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.append(make("span", each.name, { className: "what" }), make("span", each.source, { className: "source" }));
      option.addEventListener("click", () => choose(each.id));
      group.append(option);
      options.push(option);
    }
    get("list").append(group);
  }
  const visible = () => options.filter((option) => !option.hidden);
  const mark = (option) => {
    current?.classList.remove("current");
    current = option || null;
    current?.classList.add("current");
    current?.scrollIntoView({ block: "nearest" });
    get("search").setAttribute("aria-activedescendant", current ? current.id : "");
  };
  get("search").addEventListener("input", () => {
    const typed = get("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const option of options) option.hidden = !typed.every((word) => option.dataset.text.includes(word));
    for (const group of get("list").children) group.hidden = ![...group.querySelectorAll(".option")].some((option) => !option.hidden);
    mark(typed.length ? visible()[0] : null);
  });
  get("search").addEventListener("keydown", (event) => {
    const all = visible(), at = all.indexOf(current);
    if (event.key === "ArrowDown") mark(all[Math.min(at + 1, all.length - 1)]);
    else if (event.key === "ArrowUp") mark(all[Math.max(at - 1, 0)]);
    else if (event.key === "Enter" && current) choose(current.dataset.id);
    else return;
    event.preventDefault();
  });

  // what is clean, while the button is held
  const hold = get("hold");
  let held = false;
  const showClean = async (yes) => {
    if (yes === held || !screen.picture) return;
    held = yes;
    hold.setAttribute("aria-pressed", String(yes));
    if (!yes) { get("shown").src = shownUrl; return; }
    const answer = await ask(`/live/picture?${query({}, [])}`), url = URL.createObjectURL(await answer.blob());
    if (held) get("shown").src = url;
    setTimeout(() => URL.revokeObjectURL(url), 5000);
  };
  hold.addEventListener("pointerdown", (event) => { hold.setPointerCapture(event.pointerId); showClean(true); });
  for (const name of ["pointerup", "pointercancel", "blur"]) hold.addEventListener(name, () => showClean(false));
  hold.addEventListener("keydown", (event) => { if (event.key === " " || event.key === "Enter") { event.preventDefault(); showClean(true); } });
  hold.addEventListener("keyup", () => showClean(false));

  // which picture
  const showThumbs = () => {
    get("pictures").replaceChildren(...[...pictures.values()].map((each) => {
      const button = make("button", "", { type: "button", className: "thumb", title: each.label ? `${each.name}: ${each.label}` : each.name });
      const image = make("img", "", { src: `${base()}/live/thumb?picture=${encodeURIComponent(each.id)}&side=144`, alt: each.name });
      button.setAttribute("aria-pressed", String(each.id === screen.picture?.id));
      button.append(image);
      button.addEventListener("click", () => pick(each));
      return button;
    }));
  };
  const pick = (picture, keep = false) => {
    screen.picture = picture;
    pictures.set(picture.id, picture);
    if (!keep) screen.size = picture.size;
    showThumbs();
    showSizes();
    refresh();
  };
  const showSizes = () => {
    const { width, height } = screen.picture;
    const unchanged = Math.max(width, height) <= 1024 ? [["", `${width}×${height} as it is`]] : [];
    const sizes = [...new Set([...SIZES, screen.size].filter(Boolean))].sort((a, b) => a - b).map((side) => [String(side), `${side} px`]);
    get("size").replaceChildren(...[...unchanged, ...sizes].map(([value, text]) => make("option", text, { value, selected: value === String(screen.size ?? "") })));
  };
  get("size").addEventListener("change", (event) => { screen.size = event.target.value ? Number(event.target.value) : null; refresh(); });
  get("seed").addEventListener("input", (event) => { if (event.target.value !== "" && event.target.checkValidity()) { screen.seed = Number(event.target.value); refresh(); } });

  const upload = async (file) => {
    if (!file) return;
    tell(`Reading ${file.name || "the picture"}…`);
    try {
      const answer = await ask(`/live/pictures?${new URLSearchParams({ name: file.name || "picture.png" })}`, { method: "POST", body: file });
      pick(await answer.json());
      tell("");
    } catch (error) { tell(error.message, true); }
  };
  get("file").addEventListener("change", (event) => { upload(event.target.files[0]); event.target.value = ""; });
  const hasFile = (event) => [...(event.dataTransfer?.types || [])].includes("Files");
  document.addEventListener("dragover", (event) => { if (hasFile(event)) { event.preventDefault(); get("drop").hidden = false; } });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) get("drop").hidden = true; });
  document.addEventListener("drop", (event) => { get("drop").hidden = true; if (hasFile(event)) { event.preventDefault(); upload(event.dataTransfer.files[0]); } });
  document.addEventListener("paste", (event) => { const file = [...(event.clipboardData?.files || [])].find((each) => each.type.startsWith("image/")); if (file) { event.preventDefault(); upload(file); } });

  // images of the dataset
  let page = 0;
  const showSamples = channel(async () => {
    const listed = await (await ask(`/live/samples?page=${page}`)).json();
    get("samples-title").textContent = `${data.name}: ${listed.count.toLocaleString("en")} images`;
    get("samples-page").textContent = `${listed.page + 1} of ${listed.pages}`;
    get("samples-back").disabled = listed.page === 0;
    get("samples-next").disabled = listed.page + 1 >= listed.pages;
    get("samples-grid").replaceChildren(...listed.samples.map((each) => {
      const button = make("button", "", { type: "button", className: "sample", title: each.name });
      button.append(make("img", "", { src: `${base()}/live/thumb?picture=${each.id}&side=72`, alt: each.label || each.name, loading: "lazy" }), make("span", each.label || each.name));
      button.addEventListener("click", () => pickSample(each.id));
      return button;
    }));
  });
  const pickSample = async (id, keep = false) => {
    try { pick(await (await ask(`/live/samples?${new URLSearchParams({ id })}`)).json(), keep); } catch (error) { tell(error.message, true); }
  };
  const turn = (by) => { page += by; showSamples(); };
  get("samples-back").addEventListener("click", () => turn(-1));
  get("samples-next").addEventListener("click", () => turn(1));
  const openSamples = (open) => {
    get("samples").hidden = !open;
    get("samples-open").setAttribute("aria-expanded", String(open));
    if (open) showSamples();
  };
  get("samples-open").addEventListener("click", () => openSamples(get("samples").hidden));
  get("samples-close").addEventListener("click", () => { openSamples(false); get("samples-open").focus(); });

  // code, to copy and to see
  const commands = async () => (await ask(`/live/commands?${query()}`)).json();
  const copy = async (kind) => {
    try {
      const text = (await commands())[kind];
      if (!text) return tell("No command line can name this picture: use the Python code.", true);
      if (navigator.clipboard) await navigator.clipboard.writeText(text);
      else {
        const area = make("textarea", "", { value: text });
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
      }
      tell(kind === "python" ? "The Python code is on the clipboard." : "The command is on the clipboard.");
    } catch (error) { get("code").open = true; tell(`Could not copy: ${error.message}`, true); }
  };
  get("copy-python").addEventListener("click", () => copy("python"));
  get("copy-shell").addEventListener("click", () => copy("shell"));
  const showCode = channel(async () => {
    if (!get("code").open) return;
    const code = await commands();
    get("python").textContent = code.python;
    get("shell").textContent = code.shell;
    get("shell-box").hidden = !code.shell;
  });
  get("code").addEventListener("toggle", () => showCode());

  // find what breaks it
  let search = null;
  const stop = () => { search?.abort(); search = null; get("breaks-go").textContent = "Search"; };
  for (const name of start.benchmarks) get("breaks-benchmark").append(make("option", name === "all" ? `all ${corruptions.size} corruptions` : name, { value: name }));
  models.forEach((model, i) => get("breaks-model").append(make("option", model.name, { value: i })));
  get("breaks-go").disabled = !models.length;
  get("breaks-go").addEventListener("click", async () => {
    if (search) { stop(); get("breaks-progress").textContent += ", stopped"; return; }
    const controller = search = new AbortController();
    const from = query({ model: get("breaks-model").value, benchmark: get("breaks-benchmark").value }, []);
    const answers = [], view = query({}, []);
    let total = 0, clean = "";
    get("breaks-go").textContent = "Stop";
    get("breaks-list").replaceChildren();
    get("breaks-never").textContent = "";
    get("breaks-progress").textContent = "starting…";
    const show = () => {
      const broken = answers.filter((each) => each.failure.failed !== null), never = answers.filter((each) => each.failure.failed === null);
      broken.sort((a, b) => a.failure.failed / a.highest - b.failure.failed / b.highest);
      broken.forEach((each, i) => { each.card ??= breakCard(each, view); if (get("breaks-list").children[i] !== each.card) get("breaks-list").insertBefore(each.card, get("breaks-list").children[i] || null); });
      get("breaks-progress").textContent = `${answers.length} of ${total}: ${broken.length} flip it away from ${clean}`;
      get("breaks-never").textContent = never.length ? `Never flipped, up to the strongest: ${never.map((each) => each.name.replaceAll("_", " ")).join(", ")}.` : "";
    };
    try {
      const reader = (await ask(`/live/breaks?${from}`, { signal: controller.signal })).body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const item of lines.map((line) => JSON.parse(line))) {
          if (item.error) throw new Error(item.error);
          if (item.status === "loading") throw new Error("The model is still loading.");
          if (item.total) { total = item.total; clean = item.clean.name; } else answers.push(item);
        }
        show();
      }
    } catch (error) { if (error.name !== "AbortError") get("breaks-progress").textContent = error.message; }
    if (search === controller) stop();
  });
  const breakCard = (each, view) => {
    const item = make("li"), card = make("button", "", { type: "button", className: `break f-${each.family}` }), text = make("span", "", { className: "text" });
    const layers = new URLSearchParams(view);
    layers.append("c", `${each.id}:${each.failure.failed}`);
    layers.set("thumb", "144");
    card.append(make("img", "", { src: `${base()}/live/picture?${layers}`, alt: "", loading: "lazy" }));
    text.append(make("b", each.name.replaceAll("_", " ")), make("span", `at ${point(each.failure.failed)}: ${each.failure.becomes}`), make("small", each.source));
    card.append(text);
    card.addEventListener("click", () => {
      screen.layers = [];
      screen.active = 0;
      choose(each.id, each.failure.failed);
      get("shown").scrollIntoView({ block: "center", behavior: "smooth" });
      get("severity").focus({ preventScroll: true });
    });
    item.append(card);
    return item;
  };

  // all of it
  let remembered, knownStrip = "";
  const refresh = () => {
    if (!screen.picture) return;
    showPicture();
    showPredictions.forEach((show) => show());
    if (knownStrip !== stripKey()) {
      knownStrip = stripKey();
      strips = models.map(() => null);
      drawStrip();
      askStrip.forEach((show) => show());
    }
    get("save").href = `${base()}/live/save?${query()}`;
    showCode();
    clearTimeout(remembered);
    remembered = setTimeout(() => history.replaceState(null, "", `?${query()}`), 300);
  };

  const follow = async () => {
    for (;;) {
      const status = await (await ask("/live/status")).json();
      status.models.forEach((model, i) => {
        if (model.status === models[i].status) return;
        models[i] = model;
        get("breaks-model").options[i].textContent = model.name;
        if (model.status === "failed") showError(i, model.error);
        else if (screen.picture) { showPredictions[i](); askStrip[i](); }
      });
      if (status.data_error) tell(status.data_error, true);
      if (status.data && !data) { data = status.data; showData(); }
      if (status.loaded) { loaded = true; return; }
      await new Promise((done) => setTimeout(done, 250));
    }
  };
  const showData = () => { get("samples-open").hidden = !data; if (data) get("samples-open").textContent = `From ${data.name}…`; };

  const begin = async () => {
    const asked = new URLSearchParams(location.search);
    for (const text of asked.getAll("c")) {
      const cut = text.lastIndexOf(":"), id = text.slice(0, cut), at = Number(text.slice(cut + 1));
      if (corruptions.has(id) && Number.isFinite(at)) screen.layers.push({ id, severity: clamp(at, 0, corruptions.get(id).highest) });
    }
    if (!screen.layers.length && !asked.has("picture")) screen.layers.push({ ...USUAL });
    if (/^\d{1,9}$/.test(asked.get("seed") || "")) { screen.seed = Number(asked.get("seed")); get("seed").value = screen.seed; }
    models.forEach((model, i) => (model.status === "failed" ? showError(i, model.error) : showModel(i, { status: "loading" })));
    showData();
    showThumbs();
    const wanted = asked.get("picture"), sized = asked.has("picture");
    screen.size = /^\d{2,4}$/.test(asked.get("size") || "") ? Number(asked.get("size")) : null;
    if (wanted && pictures.has(wanted)) pick(pictures.get(wanted), sized);
    else if (!wanted || !wanted.startsWith("d")) pick(start.pictures[0]);
    showStack();
    if (!loaded) await follow();
    if (!screen.picture) await pickSample(wanted, sized);
    if (!screen.picture) pick(start.pictures[0]);
  };
  new ResizeObserver(drawStrip).observe(get("strip"));
  begin().catch((error) => tell(error.message, true));
})();
