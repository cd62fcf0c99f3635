// Materials of surfaces. Tissue can be coloured by its vertices' history: one shader serves all modes, so that a change
// of mode compiles nothing.

import {
  Color,
  DoubleSide,
  LineBasicMaterial,
  type MaterialParameters,
  MeshBasicMaterial,
  MeshPhysicalMaterial,
  MeshStandardMaterial,
  NotEqualStencilFunc,
  ReplaceStencilOp,
  type WebGLProgramParametersWithUniforms,
} from "three";

/** Modes, in the order of the shader's. */
const COLOURS = ["plain", "depth", "age", "normals", "stiffness"] as const;
export type TissueColour = (typeof COLOURS)[number];

/** Seconds after which a moved vertex has the colour of one that never moved. */
export const AGE_MAX_S = 4;

/** Values of the stencil: what a pixel shows. */
const [TISSUE, INSTRUMENT] = [0, 1];

/** Light and dark of ridges and folds for each unit of mean curvature, metres: a fold of 5 mm is a quarter darker. */
const CURVATURE_M = 1.2e-3;

/** Wet tissue. */
export class TissueMaterial extends MeshPhysicalMaterial {
  private readonly shared = {
    uMode: { value: 0 },
    uDepthMax: { value: 5e-3 },
    uSeconds: { value: 0 },
  };

  constructor(isForbidden: boolean) {
    super({
      color: new Color(isForbidden ? "#b8433f" : "#c98579"),
      roughness: 0.55,
      metalness: 0,
      clearcoat: isForbidden ? 0 : 0.6,
      clearcoatRoughness: 0.32,
      side: DoubleSide,
      // Lines along edges lie in front.
      polygonOffset: true,
      polygonOffsetFactor: 1,
      polygonOffsetUnits: 1,
      // The instrument is seen through a forbidden region.
      ...(isForbidden ? {} : marking(TISSUE)),
    });
    if (isForbidden) [this.transparent, this.opacity, this.depthWrite] = [true, 0.35, false];
  }

  set mode(mode: TissueColour) {
    this.shared.uMode.value = COLOURS.indexOf(mode);
  }

  set depthMax(metres: number) {
    this.shared.uDepthMax.value = metres;
  }

  set seconds(now: number) {
    this.shared.uSeconds.value = now;
  }

  override onBeforeCompile(shader: WebGLProgramParametersWithUniforms): void {
    Object.assign(shader.uniforms, this.shared);
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", "#include <common>\nattribute vec3 history;\nvarying vec3 vHistory;")
      .replace("#include <begin_vertex>", "#include <begin_vertex>\nvHistory = history;");
    shader.fragmentShader = shader.fragmentShader
      .replace(
        "#include <common>",
        `#include <common>
        varying vec3 vHistory;
        uniform int uMode;
        uniform float uDepthMax;
        uniform float uSeconds;
        // Dark to light, as even as four colours make it; told apart by who sees no red.
        vec3 scale(float t) {
          vec3 a = vec3(0.110, 0.140, 0.340), b = vec3(0.070, 0.380, 0.500);
          vec3 c = vec3(0.420, 0.640, 0.330), d = vec3(0.960, 0.780, 0.160);
          return t < 0.333 ? mix(a, b, 3.0 * t) : t < 0.667 ? mix(b, c, 3.0 * t - 1.0) : mix(c, d, 3.0 * t - 2.0);
        }`,
      )
      .replace(
        "#include <color_fragment>",
        `#include <color_fragment>
        // Ridges are lighter and folds darker. Derivatives of the normal along the surface, as it is drawn.
        vec3 alongX = dFdx(vViewPosition), alongY = dFdy(vViewPosition);
        float bend = dot(dFdx(vNormal), alongX) / max(dot(alongX, alongX), 1e-12)
          + dot(dFdy(vNormal), alongY) / max(dot(alongY, alongY), 1e-12);
        // Next to the outline neighbouring pixels are not neighbours on the surface.
        bend *= smoothstep(0.1, 0.4, abs(dot(normalize(vNormal), normalize(vViewPosition))));
        if (uMode == 0) diffuseColor.rgb *= 1.0 - clamp(${CURVATURE_M.toExponential(2)} * bend, -0.25, 0.35);
        // The inside is darker and cooler than the outside.
        if (!gl_FrontFacing) diffuseColor.rgb *= vec3(0.22, 0.40, 0.72);
        if (uMode == 1) diffuseColor.rgb = scale(clamp(vHistory.x / uDepthMax, 0.0, 1.0));
        if (uMode == 2) diffuseColor.rgb = scale(1.0 - clamp((uSeconds - vHistory.y) / ${AGE_MAX_S.toFixed(1)}, 0.0, 1.0));
        if (uMode == 4) diffuseColor.rgb = scale(clamp(vHistory.z, 0.0, 1.0));`,
      )
      .replace(
        "#include <opaque_fragment>",
        `// The outward normal, on both sides.
        if (uMode == 3) outgoingLight = 0.5 + 0.5 * (gl_FrontFacing ? normal : -normal);
        #include <opaque_fragment>`,
      );
  }
}

/** Material of the edges that a cut has opened. */
export function cutMaterial(): LineBasicMaterial {
  return new LineBasicMaterial({ color: "#5c0d12" });
}

export function wireMaterial(): MeshBasicMaterial {
  return new MeshBasicMaterial({ color: "#10151a", wireframe: true, transparent: true, opacity: 0.35 });
}

export function instrumentMaterial(): MeshStandardMaterial {
  return new MeshStandardMaterial({ color: "#aab4bb", roughness: 0.34, metalness: 0.55, ...marking(INSTRUMENT) });
}

/** Material of the device, which shows the hand's pose and is not stopped by tissue; transparent. It tints each pixel
 * once, and none of the instrument's. */
export function ghostMaterial(): MeshBasicMaterial {
  return new MeshBasicMaterial({
    color: "#37b3cc",
    transparent: true,
    opacity: 0.26,
    depthTest: false,
    ...marking(INSTRUMENT),
    stencilFunc: NotEqualStencilFunc,
  });
}

/** Writes what a pixel shows to the stencil. */
function marking(shown: number): MaterialParameters {
  return { stencilWrite: true, stencilRef: shown, stencilZPass: ReplaceStencilOp };
}
