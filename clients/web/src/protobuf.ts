// Reads and writes the subset of protobuf that the live view needs. Packed floats are views of the bytes instead of
// single numbers: a frame of 50,000 vertices takes well under a millisecond.

const text = { decoder: new TextDecoder(), encoder: new TextEncoder() };

/** Reads a message's fields in their order. */
export class Reader {
  private at = 0;
  private readonly view: DataView;

  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Returns the next field's number; 0 at the end. Call `skip` for an unknown field. */
  next(): number {
    if (this.at >= this.bytes.length) return 0;
    this.tag = this.uint();
    return this.tag >>> 3;
  }

  private tag = 0;

  /** Reads a varint of up to 64 bits; exact below 2^53. */
  uint(): number {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new Error("a message ends in the middle of a number");
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  }

  bool(): boolean {
    return this.uint() !== 0;
  }

  double(): number {
    this.at += 8;
    return this.view.getFloat64(this.at - 8, true);
  }

  slice(): Uint8Array {
    const length = this.uint();
    const from = this.at;
    this.at += length;
    if (this.at > this.bytes.length) throw new Error("a message ends in the middle of a field");
    return this.bytes.subarray(from, this.at);
  }

  string(): string {
    return text.decoder.decode(this.slice());
  }

  message<T>(read: (reader: Reader) => T): T {
    return read(new Reader(this.slice()));
  }

  /** Reads packed floats. */
  floats(): Float32Array {
    return new Float32Array(aligned(this.slice()));
  }

  /** Reads packed doubles. */
  doubles(): Float64Array {
    return new Float64Array(aligned(this.slice()));
  }

  /** Reads packed numbers of fixed width. */
  fixed32(): Uint32Array {
    return new Uint32Array(aligned(this.slice()));
  }

  /** Reads packed varints, or a single unpacked one. */
  uints(into: number[]): void {
    if ((this.tag & 7) === 0) {
      into.push(this.uint());
      return;
    }
    const packed = new Reader(this.slice());
    while (packed.at < packed.bytes.length) into.push(packed.uint());
  }

  skip(): void {
    switch (this.tag & 7) {
      case 0:
        this.uint();
        break;
      case 1:
        this.at += 8;
        break;
      case 2:
        this.slice();
        break;
      case 5:
        this.at += 4;
        break;
      default:
        throw new Error(`a field of unknown kind ${this.tag & 7}`);
    }
  }
}

function aligned(bytes: Uint8Array): ArrayBuffer {
  return bytes.slice().buffer;
}

/** A message under construction. */
export class Writer {
  private readonly bytes: number[] = [];

  private uint(value: number): void {
    for (; value > 127; value = Math.floor(value / 128)) this.bytes.push((value % 128) + 128);
    this.bytes.push(value);
  }

  private raw(field: number, bytes: ArrayLike<number>): this {
    this.uint(field * 8 + 2);
    this.uint(bytes.length);
    this.bytes.push(...Array.from(bytes));
    return this;
  }

  number(field: number, value: number): this {
    this.uint(field * 8);
    this.uint(value);
    return this;
  }

  /** Writes a `sint32`. */
  signed(field: number, value: number): this {
    return this.number(field, value < 0 ? -2 * value - 1 : 2 * value);
  }

  double(field: number, value: number): this {
    this.uint(field * 8 + 1);
    this.bytes.push(...new Uint8Array(new Float64Array([value]).buffer));
    return this;
  }

  string(field: number, value: string): this {
    return this.raw(field, text.encoder.encode(value));
  }

  message(field: number, value: Writer): this {
    return this.raw(field, value.bytes);
  }

  done(): Uint8Array {
    return Uint8Array.from(this.bytes);
  }
}
