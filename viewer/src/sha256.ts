// SHA-256. The browser has it for pages from secure places alone, and this page may be anywhere.

const PRIMES = firstPrimes(64);
const fraction = (x: number) => ((x - Math.floor(x)) * 2 ** 32) | 0;
const START = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const ROUNDS = PRIMES.map((prime) => fraction(Math.cbrt(prime)));

function firstPrimes(count: number): number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime)) found.push(n);
  return found;
}

/** The digest of `bytes`, in hexadecimal digits. */
export function sha256(bytes: Uint8Array): string {
  const state = Int32Array.from(START);
  const whole = bytes.length - (bytes.length % 64);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < whole; at += 64) step(state, view, at);
  const end = padded(bytes.subarray(whole), bytes.length);
  for (let at = 0; at < end.byteLength; at += 64) step(state, end, at);
  return [...state].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

function padded(rest: Uint8Array, length: number): DataView {
  const made = new Uint8Array(rest.length < 56 ? 64 : 128);
  made.set(rest);
  made[rest.length] = 0x80;
  const view = new DataView(made.buffer);
  view.setUint32(made.length - 8, Math.floor(length / 2 ** 29));
  view.setUint32(made.length - 4, (length << 3) >>> 0);
  return view;
}

const words = new Int32Array(64);
const turn = (x: number, by: number) => (x >>> by) | (x << (32 - by));

function step(state: Int32Array, data: DataView, at: number): void {
  for (let k = 0; k < 16; k++) words[k] = data.getInt32(at + 4 * k);
  for (let k = 16; k < 64; k++) {
    const [x, y] = [words[k - 15], words[k - 2]];
    const low = turn(x, 7) ^ turn(x, 18) ^ (x >>> 3);
    const high = turn(y, 17) ^ turn(y, 19) ^ (y >>> 10);
    words[k] = (words[k - 16] + low + words[k - 7] + high) | 0;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let k = 0; k < 64; k++) {
    const mix = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
    const one = (h + mix + ((e & f) ^ (~e & g)) + ROUNDS[k] + words[k]) | 0;
    const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, k) => (state[k] = (state[k] + word) | 0));
}
