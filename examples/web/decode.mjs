// Runs the decoder of the README in Node.js: its loop stops early, inside the ONNX model.
//
//     npm install
//     node decode.mjs decoder.onnx '[[0.1, ...], ...]'     the states, one row of 32 numbers each
import * as ort from "onnxruntime-node";

const [file, states] = process.argv.slice(2);
const rows = JSON.parse(states);
const session = await ort.InferenceSession.create(file);
const state = new ort.Tensor("float32", rows.flat(), [rows.length, 32]);
const { output_0: tokens, status } = await session.run({ state });
if (status && status.data[0] !== 0n) {
  throw new Error(`the model reports error ${status.data[0]}`);
}
const [count, length] = tokens.dims;
const said = Array.from({ length: count }, (_, row) =>
  Array.from(tokens.data.slice(row * length, (row + 1) * length), Number),
);
console.log(JSON.stringify(said));
