// Joins pictures to an animated one: WebP's container (RFC 9649).

const HAS_ANIMATION = 0x02;
/** A frame covers the one before it. */
const REPLACES = 0x02;

function chunk(name, content) {
  const head = Buffer.alloc(8);
  head.write(name, "latin1");
  head.writeUInt32LE(content.length, 4);
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
}

function* chunks(file) {
  for (let at = 12; at < file.length; ) {
    const size = file.readUInt32LE(at + 4);
    yield [file.toString("latin1", at, at + 4), file.subarray(at, at + 8 + size + (size % 2))];
    at += 8 + size + (size % 2);
  }
}

/** Returns the size of a frame, from the header of its lossy or lossless picture. */
function size([name, data]) {
  if (name === "VP8 ") return [data.readUInt16LE(14) & 0x3fff, data.readUInt16LE(16) & 0x3fff];
  const bits = data.readUInt32LE(9);
  return [(bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1];
}

/** `pictures`: WebP files of one size without transparency. */
export function animated(pictures, frame_ms) {
  const drawn = pictures.map((file) => [...chunks(file)].find(([name]) => /^VP8[ L]$/.test(name)));
  const [width, height] = size(drawn[0]);
  const extended = Buffer.alloc(10);
  extended[0] = HAS_ANIMATION;
  extended.writeUIntLE(width - 1, 4, 3);
  extended.writeUIntLE(height - 1, 7, 3);
  const frames = drawn.map(([, data]) => {
    const head = Buffer.alloc(16);
    head.writeUIntLE(width - 1, 6, 3);
    head.writeUIntLE(height - 1, 9, 3);
    head.writeUIntLE(Math.round(frame_ms), 12, 3);
    head[15] = REPLACES;
    return chunk("ANMF", Buffer.concat([head, data]));
  });
  // Black behind all, again and again.
  const body = Buffer.concat([chunk("VP8X", extended), chunk("ANIM", Buffer.alloc(6)), ...frames]);
  return chunk("RIFF", Buffer.concat([Buffer.from("WEBP", "latin1"), body]));
}
