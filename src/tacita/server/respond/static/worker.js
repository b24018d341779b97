// Keeps this version of the page for when there is no network. It keeps no question, no report and no answer.
// Caches of other versions stay: a survey that was opened with one may be opened without network again.

const base = new URL(".", self.location).pathname; // names the version
const own = new URL(self.registration.scope).pathname; // a scope is a prefix: it may cover other pages too
const opened = () => caches.open(`tacita ${base}`);

async function fill() {
  const files = await (await fetch(`${base}files.json`)).json();
  await (await opened()).addAll(files.map((name) => base + name));
}

async function asset(request) {
  return (await (await opened()).match(request)) ?? fetch(request);
}

async function page(request) {
  const kept = async () => (await opened()).match(`${base}page.html`);
  try {
    const answer = await fetch(request);
    return answer.status >= 500 ? ((await kept()) ?? answer) : answer;
  } catch {
    return (await kept()) ?? Response.error();
  }
}

self.addEventListener("install", (event) => event.waitUntil(fill().then(() => self.skipWaiting())));
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const { pathname, origin } = new URL(event.request.url);
  if (event.request.method !== "GET" || origin !== self.location.origin) return;
  if (pathname.startsWith(base)) event.respondWith(asset(event.request));
  else if (event.request.mode === "navigate" && pathname === own) event.respondWith(page(event.request));
});
