// Calls to the server that the page came from: grpc-web, binary, over fetch.

/** Why a call ended. */
export class CallError extends Error {
  constructor(
    /** gRPC's own number; -1: there was no answer of the service. */
    readonly code: number,
    message: string,
  ) {
    super(message);
  }

  get needsKey(): boolean {
    return this.code === 16;
  }

  get isNotFound(): boolean {
    return this.code === 5;
  }

  /** Trying again later can help. */
  get mayPass(): boolean {
    return [-1, 2, 4, 5, 8, 13, 14].includes(this.code);
  }
}

const HEAD = 5;

/** The messages of an answer, until it ends or `signal` ends it. */
export async function* call(
  method: string,
  message: Uint8Array,
  key: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const framed = new Uint8Array(HEAD + message.length);
  new DataView(framed.buffer).setUint32(1, message.length);
  framed.set(message, HEAD);
  const headers: Record<string, string> = {
    "content-type": "application/grpc-web+proto",
    "x-grpc-web": "1",
  };
  if (key !== "") headers["authorization"] = `Bearer ${key}`;
  let answer: Response;
  try {
    const url = `/palpate.v1.WatchService/${method}`;
    answer = await fetch(url, { method: "POST", headers, body: framed, signal, cache: "no-store" });
  } catch (error) {
    throw signal.aborted ? error : new CallError(-1, "the server does not answer");
  }
  if (!answer.ok) throw new CallError(answer.status === 403 ? 7 : -1, (await answer.text()).trim());
  throwUnlessOk(answer.headers.get("grpc-status"), answer.headers.get("grpc-message"));
  if (answer.body === null) throw new CallError(-1, "the server's answer is empty");
  yield* messages(answer.body.getReader(), signal);
}

async function* messages(
  body: ReadableStreamDefaultReader<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  let buffer = new Uint8Array(1 << 16);
  let [from, to] = [0, 0];
  try {
    for (;;) {
      while (to - from >= HEAD) {
        const view = new DataView(buffer.buffer, from);
        const length = view.getUint32(1);
        if (to - from < HEAD + length) break;
        const message = buffer.subarray(from + HEAD, from + HEAD + length);
        from += HEAD + length;
        if ((view.getUint8(0) & 128) !== 0) {
          const trailers = new TextDecoder().decode(message);
          throwUnlessOk(trailer(trailers, "grpc-status"), trailer(trailers, "grpc-message"));
          return;
        }
        yield message;
      }
      let next: ReadableStreamReadResult<Uint8Array>;
      try {
        next = await body.read();
      } catch (error) {
        throw signal.aborted ? error : new CallError(-1, "the connection broke off");
      }
      if (next.done) throw new CallError(-1, "the connection ended");
      const more = next.value;
      if (to + more.length > buffer.length) {
        // What was handed out may still be read: never written over.
        const larger = new Uint8Array(Math.max(1 << 16, 2 * (to - from + more.length)));
        larger.set(buffer.subarray(from, to));
        [buffer, to, from] = [larger, to - from, 0];
      }
      buffer.set(more, to);
      to += more.length;
    }
  } finally {
    void body.cancel().catch(() => undefined);
  }
}

function trailer(trailers: string, name: string): string | null {
  const line = trailers.split("\r\n").find((line) => line.toLowerCase().startsWith(`${name}:`));
  return line === undefined ? null : line.slice(name.length + 1).trim();
}

function throwUnlessOk(status: string | null, message: string | null): void {
  if (status === null || status === "0") return;
  let words = message ?? "";
  try {
    words = decodeURIComponent(words);
  } catch {
    // As it came, then.
  }
  throw new CallError(Number(status), words);
}
