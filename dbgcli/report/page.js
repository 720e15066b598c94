
"use strict";
// The page is whole without this: it adds a switch of themes, stepping by keys, and copying.
(() => {
  const root = document.documentElement;
  const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));

  // ---- theme ----

  const themes = ["system", "light", "dark"];
  const themeButton = document.getElementById("theme");
  // Pages that were opened as files may have no storage.
  const remembered = () => { try { return localStorage.getItem("wetdbg-theme"); } catch { return null; } };
  const remember = (name) => { try { localStorage.setItem("wetdbg-theme", name); } catch { } };
  const setTheme = (name) => {
    if (name === "system") delete root.dataset.theme;
    else root.dataset.theme = name;
    themeButton.textContent = "Theme: " + (name === "system" ? "as the system" : name);
  };
  let theme = themes.includes(remembered()) ? remembered() : "system";
  setTheme(theme);
  themeButton.hidden = false;
  themeButton.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    setTheme(theme);
    remember(theme);
  });

  // ---- the line of a step, in the source ----

  const source = document.getElementById("source");
  const beside = matchMedia("(min-width: 100rem)");
  let shownLine = null;
  const showLine = (id) => {
    if (shownLine) {
      shownLine.classList.remove("here");
      shownLine.removeAttribute("aria-current");
    }
    shownLine = id ? document.getElementById(id) : null;
    if (!shownLine) return;
    shownLine.classList.add("here");
    shownLine.setAttribute("aria-current", "true");
    if (!beside.matches) return;
    shownLine.closest("details").open = true;
    const line = shownLine.getBoundingClientRect(), frame = source.getBoundingClientRect();
    source.scrollTop += line.top - frame.top - frame.height / 2;
  };

  // ---- lists to step through ----

  const rows = (list) => all(":scope > li > details > summary", list);
  const lists = all("[data-list]");
  let current = document.querySelector(".steps") || lists[0];

  const select = (list, index) => {
    const summaries = rows(list), summary = summaries[index];
    if (!summary) return;
    current = list;
    const isWay = list.classList.contains("steps");
    const way = list.closest(".way");
    if (way) way.open = true;
    summaries.forEach((one, i) => {
      if (i === index) one.setAttribute("aria-current", isWay ? "step" : "true");
      else one.removeAttribute("aria-current");
      if (isWay) one.parentElement.open = i === index;
    });
    summary.parentElement.open = true;
    summary.focus();
    summary.scrollIntoView({ block: "nearest" });
    if (isWay) {
      showLine(summary.closest("li").dataset.line);
      list.bar.update(index);
    }
  };
  const position = (list) => rows(list).findIndex((one) => one.hasAttribute("aria-current"));
  const go = (list, by) => {
    const at = position(list), last = rows(list).length - 1;
    select(list, Math.min(last, Math.max(0, at < 0 ? 0 : at + by)));
  };

  const makeButton = (text, click) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.addEventListener("click", click);
    return button;
  };
  const makeBar = (list) => {
    const bar = document.createElement("div");
    const back = makeButton("\u2190 Previous step", () => go(list, -1));
    const on = makeButton("Next step \u2192", () => go(list, 1));
    const where = document.createElement("p");
    where.setAttribute("role", "status");
    bar.className = "bar";
    bar.append(back, on, where);
    list.before(bar);
    list.bar = { update: (index) => {
      const summaries = rows(list);
      where.textContent = "Step " + (index + 1) + " of " + summaries.length + ": " +
        summaries[index].querySelector(".where").textContent;
      back.disabled = index === 0;
      on.disabled = index + 1 === summaries.length;
    } };
  };

  lists.forEach((list) => {
    if (list.classList.contains("steps")) makeBar(list);
    list.addEventListener("focusin", () => { current = list; });
    list.addEventListener("click", (event) => {
      const summary = event.target.closest("summary");
      const index = summary ? rows(list).indexOf(summary) : -1;
      if (index < 0 || !list.classList.contains("steps") || summary.parentElement.open) return;
      event.preventDefault();
      select(list, index);
    });
  });
  all(".keys").forEach((keys) => { keys.hidden = false; });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || !current) return;
    const summary = event.target.closest("[data-list] > li > details > summary");
    const index = summary ? rows(current).indexOf(summary) : -1;
    const isArrow = index >= 0;
    const by = event.key === "j" || (isArrow && event.key === "ArrowDown") ? 1
      : event.key === "k" || (isArrow && event.key === "ArrowUp") ? -1 : 0;
    if (by && index >= 0) select(current, Math.min(rows(current).length - 1, Math.max(0, index + by)));
    else if (by) go(current, by);
    else if (isArrow && event.key === "Home") select(current, 0);
    else if (isArrow && event.key === "End") select(current, rows(current).length - 1);
    else return;
    event.preventDefault();
  });

  // ---- places in the source ----

  // A line that a link leads to may be in a file that is folded.
  const unfold = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const line = id ? document.getElementById(id) : null;
    if (!line) return;
    for (let one = line.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
    line.scrollIntoView({ block: line.matches("tr") ? "center" : "start" });
  };
  addEventListener("hashchange", unfold);
  if (location.hash) unfold();

  // ---- copying ----

  const copyText = (code) => {
    if (navigator.clipboard && isSecureContext) return navigator.clipboard.writeText(code.textContent);
    const range = document.createRange();
    range.selectNodeContents(code);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    return document.execCommand("copy") ? Promise.resolve() : Promise.reject();
  };
  all("code.command").forEach((code) => {
    const button = makeButton("Copy", () => copyText(code).then(
      () => { button.textContent = "Copied"; }, () => { button.textContent = "Marked: press Ctrl+C"; }));
    button.className = "copy";
    button.setAttribute("aria-label", "Copy: " + code.textContent);
    code.after(button);
  });

  // ---- paper ----

  const folded = [];
  addEventListener("beforeprint", () => {
    all("#suspects details, #ways details").forEach((one) => {
      if (!one.open) folded.push(one);
      one.open = true;
    });
  });
  addEventListener("afterprint", () => { folded.splice(0).forEach((one) => { one.open = false; }); });
})();
