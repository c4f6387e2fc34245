// How is the server asked? By fetch alone, with a token in a header that lives as long as the tab.

const KEY = 'cognate-token';

export const token = {
  get: () => sessionStorage.getItem(KEY) ?? '',
  set: (value) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY)),
};

/** What the server refused, or why it could not be reached (status 0). */
export class Refused extends Error {
  constructor(status, message, hint) {
    super(message);
    this.status = status;
    this.hint = hint;
  }
}

const headers = () => (token.get() ? { authorization: `Bearer ${token.get()}` } : {});

async function refused(response) {
  const body = await response.json().catch(() => ({}));
  const error = body.error ?? {};
  return new Refused(response.status, error.message ?? response.statusText, error.hint);
}

export async function ask(path, { method = 'GET', body, signal } = {}) {
  let response;
  try {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const kind = body === undefined ? {} : { 'content-type': 'application/json' };
    response = await fetch(path, { method, signal, headers: { ...headers(), ...kind }, ...sent });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused(0, 'the server does not answer');
  }
  if (!response.ok) throw await refused(response);
  return response.json();
}

export const model = (name, rest = '') => `v1/models/${encodeURIComponent(name)}${rest}`;

/** Follows the events of a model until the signal; each is handed over with its kind. */
export async function follow(name, signal, seen) {
  let response;
  try {
    response = await fetch(model(name, '/events'), { headers: headers(), signal });
  } catch (error) {
    if (signal.aborted) return;
    throw new Refused(0, 'the server does not answer');
  }
  if (!response.ok) throw await refused(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read().catch(() => ({ done: true }));
    if (done) return;
    rest += value;
    const events = rest.split('\n\n');
    rest = events.pop();
    for (const event of events) {
      const field = (key) => event.split('\n').find((line) => line.startsWith(`${key}: `))?.slice(key.length + 2);
      const data = field('data');
      if (data) seen(field('event') ?? 'message', JSON.parse(data));
    }
  }
}
