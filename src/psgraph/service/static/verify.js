// Verify a release in the browser: download its files again, compute their digests and compare
// them with its certificate, follow the chain of certificates through the window, and add it up.
import { atMost, digestOf, fraction, number, parseCertificate, sha256, sum } from "./certificate.js";
import { say } from "./enhance.js";

const MOST_CERTIFICATES = 200;

async function download(url) {
  const response = await fetch(url, { credentials: "same-origin", cache: "no-store" });
  if (!response.ok) throw new Error(`a file could not be downloaded (status ${response.status})`);
  return response.arrayBuffer();
}

async function readCertificate(pattern, timestamp) {
  const url = pattern.replace("TIMESTAMP", timestamp);
  const certificate = parseCertificate(new TextDecoder().decode(await download(url)));
  if (number(certificate.timestamp) !== timestamp) throw new Error("the certificate is for another timestamp");
  return certificate;
}

async function checkFile(url, expected) {
  const found = await sha256(await download(url));
  return [found === expected, `SHA-256 ${found.slice(0, 16)}…`];
}

// The digest of a graph in parts is that of the lines that sha256sum prints for the parts.
async function checkGraph(url, certificate) {
  if (certificate.graph_part_nodes === undefined) return checkFile(url, certificate.graph_sha256);
  const parts = Math.ceil(number(certificate.nodes) / number(certificate.graph_part_nodes));
  let lines = "";
  for (let part = 0; part < parts; part += 1) {
    const digest = await sha256(await download(`${url}&part=${part}`));
    lines += `${digest}  part-${String(part).padStart(5, "0")}.parquet\n`;
  }
  const found = await sha256(new TextEncoder().encode(lines));
  return [found === certificate.graph_sha256, `SHA-256 ${found.slice(0, 16)}…`];
}

// The certificates of the window, newest first; each states the digest of the one before it.
async function windowOf(pattern, last) {
  const first = Math.max(0, number(last.timestamp) - number(last.window) + 1);
  const chain = [last];
  for (let timestamp = number(last.timestamp) - 1; timestamp >= first; timestamp -= 1) {
    const earlier = await readCertificate(pattern, timestamp);
    const stated = chain[chain.length - 1].previous;
    if (stated !== earlier.digest || (await digestOf(earlier)) !== earlier.digest) {
      throw new Error(`the certificate of timestamp ${timestamp} does not match the chain`);
    }
    chain.push(earlier);
  }
  return chain;
}

async function checkWindow(pattern, last) {
  if (number(last.window) > MOST_CERTIFICATES) {
    return [true, "not added up: the window is too long for a browser; use psgraph verify"];
  }
  const chain = await windowOf(pattern, last);
  const spent = sum(chain.map((each) => fraction(each.spent.timestamp)));
  const stated = fraction(last.spent.window);
  const same = atMost(spent, stated) && atMost(stated, spent);
  const words = chain.length === 1 ? "1 certificate" : `${chain.length} certificates`;
  return [
    same && atMost(spent, fraction(last.epsilon)),
    `${words}, ${last.spent.window} of ${last.epsilon} spent`,
  ];
}

async function run(item, check) {
  try {
    const [passed, detail] = await check();
    item.className = passed ? "passed" : "failed";
    item.append(`${passed ? ": " : ": does not match. "}${detail}`);
    return passed;
  } catch (error) {
    item.className = "failed";
    item.append(`: ${error.message}`);
    return false;
  }
}

async function verify(box) {
  const { certificate: pattern, timestamp, graph, nodes } = box.dataset;
  const list = document.createElement("ul");
  list.className = "checks";
  const verdict = document.createElement("p");
  verdict.textContent = "Checking…";
  box.replaceChildren(verdict, list);
  let certificate = null;
  const checks = [
    ["The certificate was not changed", async () => {
      certificate = await readCertificate(pattern, Number(timestamp));
      const found = await digestOf(certificate);
      return [found === certificate.digest, `digest ${found.slice(0, 16)}…`];
    }],
    ["The graph is the certified one", () => checkGraph(graph, certificate)],
    ["The node list is the certified one", () => checkFile(nodes, certificate.nodes_sha256)],
    ["The window is chained and within ε", () => checkWindow(pattern, certificate)],
  ];
  let passed = true;
  for (const [words, check] of checks) {
    const item = document.createElement("li");
    item.append(words);
    list.append(item);
    passed = (await run(item, check)) && passed;
    if (!certificate) break;
  }
  verdict.className = `verdict ${passed ? "good" : "poor"}`;
  verdict.textContent = passed ? "Verified in this browser" : "Verification failed";
  if (!passed) {
    const advice = document.createElement("p");
    advice.textContent = "Do not rely on this release. Tell the publisher which check failed.";
    box.append(advice);
  }
}

for (const button of document.querySelectorAll("button[data-verify]")) {
  const box = document.getElementById(button.dataset.verify);
  if (!globalThis.crypto || !crypto.subtle) {
    say(box, "This browser computes digests only over HTTPS or on this machine. Open the "
      + "dashboard with https://, or use psgraph verify.");
    continue;
  }
  button.hidden = false;
  let running = false; // a disabled button would lose the focus
  button.addEventListener("click", async () => {
    if (running) return;
    running = true;
    await verify(box);
    running = false;
  });
}
