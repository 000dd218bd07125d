// The page: a digit that is drawn is read by digits.onnx; decoder.onnx decodes until its end token.
import * as ort from "./ort/ort.wasm.min.mjs";

ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmPaths = new URL("./ort/", import.meta.url).href;
const SIZE = 16;
const canvas = document.querySelector("canvas");
const pen = canvas.getContext("2d", { willReadFrequently: true });
const digit = document.querySelector("#digit");
const tokens = document.querySelector("#tokens");
const reader = await ort.InferenceSession.create("digits.onnx");
const decoder = await ort.InferenceSession.create("decoder.onnx");

function clear() {
  pen.fillStyle = "black";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  digit.textContent = "";
}

function ink() {
  // The mean brightness of each of 16 by 16 squares, from 0 to 1.
  const side = canvas.width / SIZE;
  const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
  const found = new Float32Array(SIZE * SIZE);
  for (let y = 0; y < canvas.height; y++) {
    for (let x = 0; x < canvas.width; x++) {
      const square = Math.floor(y / side) * SIZE + Math.floor(x / side);
      found[square] += data[4 * (y * canvas.width + x)] / (255 * side * side);
    }
  }
  return found;
}

async function read() {
  const image = new ort.Tensor("float32", ink(), [SIZE, SIZE]);
  const { output_0: likely } = await reader.run({ image });
  const scores = Array.from(likely.data);
  digit.textContent = String(scores.indexOf(Math.max(...scores)));
}

async function decode(rows) {
  const state = new ort.Tensor("float32", rows.flat(), [rows.length, 32]);
  const { output_0: said } = await decoder.run({ state });
  const length = said.dims[1];
  tokens.textContent = JSON.stringify(
    rows.map((_, row) => Array.from(said.data.slice(row * length, (row + 1) * length), Number)),
  );
}

let drawing = false;
canvas.addEventListener("pointerdown", (event) => {
  drawing = true;
  pen.beginPath();
  pen.moveTo(event.offsetX, event.offsetY);
});
canvas.addEventListener("pointermove", (event) => {
  if (!drawing) return;
  pen.strokeStyle = "white";
  pen.lineWidth = 22;
  pen.lineCap = pen.lineJoin = "round";
  pen.lineTo(event.offsetX, event.offsetY);
  pen.stroke();
});
canvas.addEventListener("pointerup", () => {
  drawing = false;
  read();
});
document.querySelector("#clear").addEventListener("click", clear);
document.querySelector("#decode").addEventListener("click", () => {
  decode(JSON.parse(document.querySelector("#states").value));
});
clear();
document.body.dataset.ready = "yes";
