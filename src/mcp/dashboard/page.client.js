// Runs in the browser. The page is whole without it; with it, what changes is shown as it happens.
(() => {
  const FIRST_RETRY_MS = 2000;
  const MAX_RETRY_MS = 30_000;
  const live = document.getElementById("live");
  const note = document.getElementById("note");
  let source;
  let retry;
  let retryMs = FIRST_RETRY_MS;

  const describeAge = (ms) => {
    const seconds = Math.max(Math.floor(ms / 1000), 0);
    if (seconds < 60) return `${seconds} s`;
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
    if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
    return `${Math.floor(seconds / 86_400)} d`;
  };
  let clockSkewMs = 0;
  const showAges = () => {
    for (const time of document.querySelectorAll("time[data-since]")) {
      const text = describeAge(Date.now() + clockSkewMs - Number(time.dataset.since));
      if (time.textContent !== text) time.textContent = text;
    }
  };

  /** Makes `old` like `fresh` and leaves alone what is alike: focus, selection and what is unfolded stay. */
  const morph = (old, fresh) => {
    if (old.nodeName !== fresh.nodeName || old.id !== fresh.id) return void old.replaceWith(fresh);
    if (old.nodeType === Node.TEXT_NODE) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    if (old.nodeType !== Node.ELEMENT_NODE) return;
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    if (old.matches("time[data-since]")) return;
    const isAtEnd = old.scrollTop + old.clientHeight >= old.scrollHeight - 4;
    const parts = [...old.childNodes];
    const wanted = [...fresh.childNodes];
    wanted.forEach((part, at) => {
      if (parts[at] === undefined) old.append(part);
      else morph(parts[at], part);
    });
    for (const extra of parts.slice(wanted.length)) extra.remove();
    if (old.dataset.follow === "end" && isAtEnd) old.scrollTop = old.scrollHeight;
  };

  const show = (lists) => {
    const template = document.createElement("template");
    for (const [name, { order, put }] of Object.entries(lists)) {
      const list = document.getElementById(name);
      for (const [key, html] of Object.entries(put)) {
        template.innerHTML = html;
        const fresh = template.content.firstElementChild;
        const old = document.getElementById(key);
        if (old === null) list.append(fresh);
        else morph(old, fresh);
      }
      const wanted = new Set(order);
      for (const entry of [...list.children]) if (!wanted.has(entry.id)) entry.remove();
      order.forEach((key, at) => {
        const entry = document.getElementById(key);
        if (entry !== null && list.children[at] !== entry)
          list.insertBefore(entry, list.children[at] ?? null);
      });
      document.querySelector(`#${name}-title .count`).textContent = String(order.length);
    }
    showAges();
  };

  /** After a refusal the browser does not try again by itself. */
  const tryLater = async () => {
    stop();
    live.textContent = "Not connected; trying again …";
    const answer = await fetch("/", { method: "HEAD", redirect: "manual" }).catch(() => undefined);
    if (answer?.type === "opaqueredirect") return void location.reload(); // signed out meanwhile
    retry = setTimeout(start, retryMs);
    retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
  };
  const start = () => {
    clearTimeout(retry);
    if (source !== undefined || document.hidden) return;
    source = new EventSource("/api/events");
    source.addEventListener("open", () => {
      retryMs = FIRST_RETRY_MS;
      live.textContent = "Live";
    });
    source.addEventListener("error", () => {
      live.textContent = "Not connected; trying again …";
      if (source?.readyState === EventSource.CLOSED) void tryLater();
    });
    source.addEventListener("lists", ({ data }) => {
      const { now, lists } = JSON.parse(data);
      clockSkewMs = now - Date.now();
      show(lists);
    });
    source.addEventListener("leave", () => location.reload());
  };
  const stop = () => {
    clearTimeout(retry);
    source?.close();
    source = undefined;
  };
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) return start();
    stop();
    live.textContent = "Paused";
  });

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches("form[data-act]")) return;
    event.preventDefault();
    const button = form.querySelector("button"); // form.action would be the field of that name
    button.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(form.getAttribute("action"), {
        method: "POST",
        body: new URLSearchParams(new FormData(form)),
        headers: { accept: "application/json" },
      });
      note.textContent = (await answer.json()).message;
    } catch {
      note.textContent = "The server did not answer.";
    } finally {
      button.removeAttribute("aria-busy");
      form.closest("details")?.removeAttribute("open");
    }
  });

  for (const output of document.querySelectorAll("[data-follow=end]")) output.scrollTop = output.scrollHeight;
  setInterval(showAges, 1000);
  start();
})();
