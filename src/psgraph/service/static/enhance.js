// Small improvements to pages that work without them.
//   data-swap="ID"   a form or button: load the response into the element ID, not a new page
//   data-live        a form: submit after every change of a field with data-planned, through its
//                    button with data-swap
//   data-for="ID"    a slider that moves with the number field ID
//   data-most="N"    a file field: say before sending it that a file has more than N bytes
//   data-points      a chart: show the value nearest to the pointer
//   data-follow      an element with an id: reload it every second until the attribute is gone
const LIVE_DELAY = 250, FOLLOW_DELAY = 1000;
let turn = 0; // only the latest response is shown

async function load(url, options, id) {
  const response = await fetch(url, { credentials: "same-origin", ...options });
  if (response.redirected && new URL(response.url).pathname === "/sign-in") {
    location.assign(response.url);
    return null;
  }
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return page.getElementById(id) || page.getElementById("problem");
}

function fill(target, answer) {
  // The element itself stays, because a screen reader announces changes inside it.
  target.replaceChildren(...[...answer.childNodes].map((node) => document.adoptNode(node)));
  target.hidden = false;
}

export function say(target, text) {
  const paragraph = document.createElement("p");
  paragraph.textContent = text;
  target.replaceChildren(paragraph);
}

document.addEventListener("submit", async (event) => {
  const form = event.target, button = event.submitter;
  const id = (button && button.dataset.swap) || form.dataset.swap;
  const target = id && document.getElementById(id);
  if (!target) return;
  event.preventDefault();
  const url = new URL((button && button.getAttribute("formaction")) || form.action, location.href);
  target.setAttribute("aria-busy", "true");
  turn += 1;
  const mine = turn;
  try {
    const answer = await load(url, { method: "POST", body: new FormData(form) }, id);
    if (answer && mine === turn) fill(target, answer);
  } catch {
    say(target, "The service did not respond. Check that it is running, and try again.");
  } finally {
    if (mine === turn) target.removeAttribute("aria-busy");
  }
});

for (const form of document.querySelectorAll("form[data-live]")) {
  const button = form.querySelector("button[data-swap]");
  let waiting;
  form.addEventListener("input", (event) => {
    if (!("planned" in event.target.dataset || "for" in event.target.dataset)) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const fields = [...form.querySelectorAll("[data-planned]")];
      if (fields.every((field) => field.checkValidity())) form.requestSubmit(button);
    }, LIVE_DELAY);
  });
}

for (const slider of document.querySelectorAll("input[data-for]")) {
  const field = document.getElementById(slider.dataset.for);
  slider.hidden = false;
  slider.value = field.value;
  slider.addEventListener("input", () => { field.value = slider.value; });
  field.addEventListener("input", () => { slider.value = field.value; });
}

for (const field of document.querySelectorAll("input[data-most]")) {
  field.addEventListener("change", () => {
    const most = Number(field.dataset.most), size = field.files.length ? field.files[0].size : 0;
    const words = `The file has ${size.toLocaleString("en")} bytes; at most `
      + `${most.toLocaleString("en")} can be sent.`;
    field.setCustomValidity(size > most ? words : "");
    field.reportValidity();
  });
}

for (const element of document.querySelectorAll("[data-follow]")) {
  const timer = setInterval(async () => {
    try {
      const answer = await load(location.href, {}, element.id);
      if (!answer || answer.id !== element.id) return;
      const done = !("follow" in answer.dataset);
      if (done || answer.textContent !== element.textContent) fill(element, answer);
      if (done) clearInterval(timer);
    } catch {
      clearInterval(timer);
      say(element, "The service stopped responding. Reload this page later.");
    }
  }, FOLLOW_DELAY);
}

// Values of charts. Delegated, because charts may be loaded later.
const SVG = "http://www.w3.org/2000/svg";
const points = new WeakMap(); // of each chart, read once

function nearest(chart, event) {
  if (!points.has(chart)) points.set(chart, JSON.parse(chart.dataset.points));
  const at = new DOMPoint(event.clientX, event.clientY);
  const { x, y } = at.matrixTransform(chart.getScreenCTM().inverse());
  // The place along the axis decides; the height decides between lines.
  const far = ([px, py]) => Math.hypot(px - x, (py - y) / 8);
  return points.get(chart).reduce((best, each) => (far(each) < far(best) ? each : best));
}

function part(group, name, attributes) {
  const element = group.appendChild(document.createElementNS(SVG, name));
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

function forget(chart) {
  chart.querySelector(":scope > .pointed")?.remove();
}

function point(event) {
  const chart = event.target.closest?.("svg[data-points]");
  for (const other of document.querySelectorAll("svg:has(> .pointed)")) {
    if (other !== chart) forget(other);
  }
  if (!chart) return;
  const [x, y, words] = nearest(chart, event), { width } = chart.viewBox.baseVal;
  forget(chart);
  const group = part(chart, "g", { class: "pointed" });
  part(group, "circle", { cx: x, cy: y, r: 4.5 });
  const text = part(group, "text", { y: Math.max(y - 10, 34), "text-anchor": "middle" });
  text.textContent = words;
  const half = text.getComputedTextLength() / 2 + 4;
  text.setAttribute("x", Math.min(Math.max(x, half), width - half));
}

for (const kind of ["pointermove", "pointerdown"]) document.addEventListener(kind, point);
