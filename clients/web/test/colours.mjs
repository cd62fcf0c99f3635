// The marks of the picture are told apart by everybody: with and without each kind of cone, in both themes.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

/** Machado, Oliveira and Fernandes 2009: linear RGB as it is seen without a kind of cone. */
const SEEN = {
  "all cones": [1, 0, 0, 0, 1, 0, 0, 0, 1],
  "no L cones": [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  "no M cones": [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  "no S cones": [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};
/** CIE 1976: 2.3 is just noticeable; small marks need some times as much. */
const APART = 25;

const times = (m, v) => [0, 3, 6].map((row) => v.reduce((sum, x, i) => sum + m[row + i] * x, 0));
const linear = (hex) =>
  [1, 3, 5].map((at) => {
    const v = parseInt(hex.slice(at, at + 2), 16) / 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  });
/** CIELAB of linear sRGB. */
function lab(rgb) {
  const clamped = rgb.map((v) => Math.min(1, Math.max(0, v)));
  const xyz = times([0.4124, 0.3576, 0.1805, 0.2126, 0.7152, 0.0722, 0.0193, 0.1192, 0.9505], clamped);
  const [x, y, z] = xyz.map((v, i) => v / [0.9505, 1, 1.089][i]).map((t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

test("device, force and contact are told apart by everybody, in both themes", async () => {
  const css = await readFile(new URL("../src/style.css", import.meta.url), "utf8");
  const themes = css.match(/:root[^{]*\{[^}]*--ghost[^}]*\}/g);
  assert.equal(themes.length, 2);
  for (const theme of themes) {
    const marks = ["ghost", "force", "contact"].map((name) => [name, theme.match(new RegExp(`--${name}: (#\\w{6})`))[1]]);
    for (const [who, matrix] of Object.entries(SEEN)) {
      const seen = marks.map(([name, hex]) => [name, lab(times(matrix, linear(hex)))]);
      for (const [i, [a, at]] of seen.entries())
        for (const [b, other] of seen.slice(i + 1)) {
          const apart = Math.hypot(...at.map((v, k) => v - other[k]));
          assert.ok(apart > APART, `${a} and ${b}, ${who}: ${apart.toFixed(0)} in ${theme.slice(0, 30)}`);
        }
    }
  }
});
