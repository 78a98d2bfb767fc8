// What a reader would stumble over in the page that is shown, measured in its DOM.
(() => {
  const problems = new Set();
  for (const d of document.querySelectorAll("details")) d.open = true;
  const root = document.documentElement, width = root.clientWidth;
  if (root.scrollWidth > width) problems.add(`the page is ${root.scrollWidth} pixels wide in a window of ${width}`);

  const said = e => e.textContent.trim().slice(0, 60);
  const numbers = s => {
    const wide = s.match(/^color\(srgb ([^)]+)\)/);
    if (wide) {
      const [c, alpha] = wide[1].split("/");
      return [...c.trim().split(/\s+/).map(v => v * 255), alpha === undefined ? 1 : +alpha];
    }
    const p = s.match(/[\d.]+/g).map(Number);
    return [p[0], p[1], p[2], p.length > 3 ? p[3] : 1];
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const contrast = (a, b) => {
    const [lo, hi] = [light(a), light(b)].sort((x, y) => x - y);
    return (hi + 0.05) / (lo + 0.05);
  };
  const ground = e => {
    for (; e; e = e.parentElement) {
      const c = numbers(getComputedStyle(e).backgroundColor);
      if (c[3] > 0) return c;
    }
    return [255, 255, 255, 1];
  };
  const legible = (e, colour, what) => {
    const c = contrast(numbers(colour), ground(e));
    if (c < 4.5) problems.add(`contrast ${c.toFixed(1)} of ${what}`);
  };
  const scrolls = e => e.closest(".scroll, pre") && !matchMedia("print").matches;

  // Words of the page.
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = walker.nextNode(); n; n = walker.nextNode()) {
    const e = n.parentElement;
    if (!n.textContent.trim() || e.closest("svg, style, title") || !e.checkVisibility({ visibilityProperty: true })) continue;
    legible(e, getComputedStyle(e).color, `"${said(e)}"`);
    const range = document.createRange();
    range.selectNodeContents(n);
    for (const r of range.getClientRects()) {
      if (r.width > 0 && (r.right > width + 1 || r.left < -1) && !scrolls(e)) problems.add(`cut: "${said(e)}"`);
    }
  }
  for (const e of document.querySelectorAll(".v")) {
    if (e.checkVisibility()) legible(e, getComputedStyle(e, "::before").color, `the sign of "${said(e)}"`);
  }

  // Words of pictures: within the picture, and not on a line.
  const lines = ["grid", "zero", "edge", "break", "range", "thin", "out", "cross", "whisker", "level", "trace"];
  for (const svg of document.querySelectorAll("svg")) {
    if (!svg.checkVisibility()) continue;
    const frame = svg.getBoundingClientRect();
    for (const text of [...svg.querySelectorAll("text:not(.halo)")].slice(0, 120)) { // rows are alike
      const r = text.getBoundingClientRect();
      legible(svg, getComputedStyle(text).fill, `"${said(text)}" in a picture`);
      if (r.left < frame.left - 1 || r.right > frame.right + 1 || r.top < frame.top - 1 || r.bottom > frame.bottom + 1) problems.add(`cut in a picture: "${said(text)}"`);
      for (let x = r.left + 1; x < r.right - 1; x++) { // a line is a pixel wide
        for (const e of document.elementsFromPoint(x, (r.top + r.bottom) / 2)) {
          if (e === svg || e.matches("rect.paper")) break;
          const line = e.tagName === "path" && lines.find(c => e.classList.contains(c));
          if (line) problems.add(`"${said(text)}" lies on a line (${line}) of ${svg.getAttribute("aria-label")}`);
        }
      }
    }
  }

  const bottom = e => e ? e.getBoundingClientRect().bottom + scrollY : 0;
  const wide = [...document.querySelectorAll(".scroll")].filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1);
  return {
    Problems: [...problems].slice(0, 30),
    Answer: bottom(document.querySelector(".answers li:last-child")),
    Header: bottom(document.querySelector("header")),
    Wide: wide.length,
    Hinted: wide.filter(e => getComputedStyle(e).backgroundImage.includes("gradient")).length,
  };
})()
