// Asks the server. A refusal becomes an Error whose message is one line for the user.

let csrf = "";
let whenSignedOut = () => {};

export function onSignedOut(callback) {
  whenSignedOut = callback;
}

export function useCsrf(token) {
  csrf = token;
}

// `signal` ends the request.
export async function get(path, parameters = {}, signal = undefined) {
  const query = new URLSearchParams(parameters).toString();
  return answer(await fetch(`api${path}${query ? "?" + query : ""}`, { headers: { Accept: "application/json" }, signal }), path);
}

export async function post(path, body = {}) {
  return answer(await fetch(`api${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "ibm-mq-rest-csrf-token": csrf },
    body: JSON.stringify(body),
  }), path);
}

async function answer(response, path) {
  const isJson = (response.headers.get("content-type") || "").startsWith("application/json");
  const told = isJson ? await response.json() : null;
  if (response.ok) return told;
  if (response.status === 401 && path !== "/sign-in") whenSignedOut();
  throw new Error(told?.error || `HTTP ${response.status}`);
}
