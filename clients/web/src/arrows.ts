// Many arrows in one draw call, and dots at contact points.

import {
  BufferGeometry,
  Color,
  ConeGeometry,
  CylinderGeometry,
  InstancedMesh,
  Matrix4,
  MeshBasicMaterial,
  Quaternion,
  SphereGeometry,
  Vector3,
} from "three";
import { mergeGeometries } from "three/addons/utils/BufferGeometryUtils.js";

const MAX = 128;
const ALONG = new Vector3(0, 1, 0);

/** Arrow of length 1 along y. */
function arrow(): BufferGeometry {
  const shaft = new CylinderGeometry(0.028, 0.028, 0.72, 10, 1, true).translate(0, 0.36, 0);
  const head = new ConeGeometry(0.09, 0.28, 14, 1, true).translate(0, 0.86, 0);
  return mergeGeometries([shaft, head])!;
}

class Instances extends InstancedMesh {
  constructor(geometry: BufferGeometry, colour: string) {
    // Drawn over everything, because the points that arrows mark are mostly inside a surface.
    super(geometry, new MeshBasicMaterial({ color: colour, depthTest: false, transparent: true }), MAX);
    this.frustumCulled = false;
    this.count = 0;
  }

  set colour(colour: string) {
    (this.material as MeshBasicMaterial).color = new Color(colour);
  }
}

export class Arrows extends Instances {
  constructor(colour: string) {
    super(arrow(), colour);
  }

  /** Length of an arrow in metres: that of its vector times `scale`. `width`: maximum width, metres. */
  show(positions: Float32Array, vectors: Float32Array, scale: number, width: number): void {
    const [matrix, turn] = [new Matrix4(), new Quaternion()];
    this.count = Math.min(MAX, positions.length / 3);
    for (let i = 0; i < this.count; i++) {
      const vector = new Vector3().fromArray(vectors, 3 * i).multiplyScalar(scale);
      const length = vector.length();
      turn.setFromUnitVectors(ALONG, vector.divideScalar(length || 1));
      const wide = Math.min(width, 2 * length);
      matrix.compose(new Vector3().fromArray(positions, 3 * i), turn, new Vector3(wide, length, wide));
      this.setMatrixAt(i, matrix);
    }
    this.instanceMatrix.needsUpdate = true;
  }
}

export class Dots extends Instances {
  constructor(colour: string) {
    super(new SphereGeometry(1, 12, 8), colour);
  }

  show(positions: Float32Array, radius: number): void {
    const matrix = new Matrix4();
    this.count = Math.min(MAX, positions.length / 3);
    for (let i = 0; i < this.count; i++) {
      const [x, y, z] = [positions[3 * i]!, positions[3 * i + 1]!, positions[3 * i + 2]!];
      matrix.makeScale(radius, radius, radius).setPosition(x, y, z);
      this.setMatrixAt(i, matrix);
    }
    this.instanceMatrix.needsUpdate = true;
  }
}
