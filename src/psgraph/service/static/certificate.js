// Certificates as psgraph digests them, exact fractions, and SHA-256 in the browser.
export async function sha256(bytes) {
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Numbers stay as they are written: 1.0 and 1 are the same to JavaScript, but not to a digest.
const NUMBER = "\u0000";

export function parseCertificate(text) {
  if (text.includes("\\u0000") || text.includes(NUMBER)) throw new Error("not a certificate");
  const marked = text.replace(
    /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g,
    (found) => (found[0] === '"' ? found : `"\\u0000${found}"`),
  );
  return JSON.parse(marked);
}

function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const pairs = Object.keys(value).sort().map((key) => `${canonical(key)}:${canonical(value[key])}`);
    return `{${pairs.join(",")}}`;
  }
  if (typeof value === "string" && value.startsWith(NUMBER)) return value.slice(1);
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

export async function digestOf(certificate) {
  const { digest, ...content } = certificate;
  return sha256(new TextEncoder().encode(canonical(content)));
}

export function number(value) {
  return Number(String(value).replace(NUMBER, ""));
}

// "0.847" and "11/300" as exact fractions [numerator, denominator].
export function fraction(text) {
  const [top, bottom = "1"] = text.split("/");
  const [digits, decimals = ""] = top.split(".");
  return [BigInt(digits + decimals), BigInt(bottom) * 10n ** BigInt(decimals.length)];
}

export function sum(fractions) {
  return fractions.reduce(([a, b], [c, d]) => [a * d + c * b, b * d], [0n, 1n]);
}

export function atMost([a, b], [c, d]) {
  return a * d <= c * b;
}
