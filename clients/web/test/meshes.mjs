// Meshes with known geometry.

/** A ball: `bands` of latitude, twice as many longitudes. */
export function ball(radius, bands, centre = [0, 0, 0]) {
  const [positions, triangles] = [[], []];
  const around = 2 * bands;
  const put = (x, y, z) => positions.push(centre[0] + radius * x, centre[1] + radius * y, centre[2] + radius * z);
  put(0, 0, 1);
  for (let i = 1; i < bands; i++) {
    const latitude = (Math.PI * i) / bands;
    for (let j = 0; j < around; j++) {
      const longitude = (2 * Math.PI * j) / around;
      put(Math.sin(latitude) * Math.cos(longitude), Math.sin(latitude) * Math.sin(longitude), Math.cos(latitude));
    }
  }
  put(0, 0, -1);
  const at = (i, j) => 1 + (i - 1) * around + (j % around);
  const last = positions.length / 3 - 1;
  for (let j = 0; j < around; j++) {
    triangles.push(0, at(1, j), at(1, j + 1));
    for (let i = 1; i < bands - 1; i++) {
      triangles.push(at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j), at(i + 1, j + 1), at(i, j + 1));
    }
    triangles.push(at(bands - 1, j), last, at(bands - 1, j + 1));
  }
  return { positions, triangles };
}

/** A sheet in the plane z = 0 that faces up, n by n squares. */
export function sheet(size, n) {
  const [positions, triangles] = [[], []];
  for (let i = 0; i <= n; i++) {
    for (let j = 0; j <= n; j++) positions.push(size * (j / n - 0.5), 0.8 * size * (i / n - 0.5), 0);
  }
  const at = (i, j) => i * (n + 1) + j;
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      triangles.push(at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i, j), at(i + 1, j + 1), at(i + 1, j));
    }
  }
  return { positions, triangles };
}
