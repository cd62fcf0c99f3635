// Calls to the server of this page: binary grpc-web over fetch.

/** Error that ended a call. */
export class CallError extends Error {
  constructor(
    /** Status code of gRPC; -1: the service sent no answer. */
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

  /** True if a later retry can help. */
  get mayPass(): boolean {
    return [-1, 2, 4, 5, 8, 13, 14].includes(this.code);
  }
}

const HEAD = 5;

/** Yields the messages of an answer until it ends or `signal` aborts it. */
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
        // Returned messages may still be read: their buffer is never overwritten.
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
    // Keeps the text as received.
  }
  throw new CallError(Number(status), words);
}
