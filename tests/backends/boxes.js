// What is wrong with the texts of a page: outside of it, clipped, or over each other.
const visible = e => {
  const box = e.getBoundingClientRect();
  return box.width > 0 && box.height > 0 && getComputedStyle(e).visibility != "hidden";
};
const texts = () => [...document.querySelectorAll("main *")].filter(
  e => [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()) && visible(e));
const said = e => e.textContent.trim();
const rectangles = e => {
  const range = document.createRange();
  range.selectNodeContents(e);
  return [...range.getClientRects()];
};
const meet = (p, q) =>
  Math.min(p.right, q.right) - Math.max(p.left, q.left) > 1.5 &&
  Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 4;
const faults = () => {
  const all = texts(), width = document.documentElement.clientWidth;
  const outside = all.filter(e => !e.closest(".scroll")).filter(e => {
    const box = e.getBoundingClientRect();
    return box.left < -1 || box.right > width + 1;
  });
  const clipped = all.filter(e => {
    const style = getComputedStyle(e);
    if (style.display != "inline" && style.overflowX != "visible" && e.scrollWidth > e.clientWidth + 1) return true;
    if (!(e instanceof SVGElement)) return false;
    const box = e.getBoundingClientRect(), picture = e.ownerSVGElement.getBoundingClientRect();
    return box.left < picture.left - 1 || box.right > picture.right + 1 || box.bottom > picture.bottom + 1;
  });
  const leaves = all.filter(e => !all.some(other => other != e && e.contains(other)));
  const overlapping = [];
  for (const card of new Set(leaves.map(e => e.closest(".card")))) {
    const inside = leaves.filter(e => e.closest(".card") === card).map(e => [e, rectangles(e)]);
    inside.forEach(([a, first], i) => inside.slice(i + 1).forEach(([b, second]) => {
      if (first.some(p => second.some(q => meet(p, q)))) overlapping.push(said(a) + " | " + said(b));
    }));
  }
  return {outside: outside.map(said), clipped: clipped.map(said), overlapping};
};

// Charts whose bars have tracks of different widths, so that one can't be compared with another, and numbers in two lines.
const uneven = () => [...document.querySelectorAll(".bars")].filter(e => {
  const widths = [...e.querySelectorAll(".track")].map(t => t.getBoundingClientRect().width).filter(w => w > 0);
  return Math.max(...widths) - Math.min(...widths) > 1;
}).map(said);
const broken = () => [...document.querySelectorAll(".heat td, .figures strong, .value, td.n strong")].filter(
  e => /^\S+$/.test(said(e)) && new Set(rectangles(e).map(r => Math.round(r.top))).size > 1).map(said);

// The least contrast of a text with what is behind it, as WCAG 2 measures it.
const linear = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const luminance = colour => {
  const [r, g, b] = colour.match(/[\d.]+/g).map(Number).map(linear);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = e => {
  for (; e; e = e.parentElement) {
    const colour = getComputedStyle(e).backgroundColor;
    if (!colour.endsWith(", 0)")) return colour;
  }
  return "rgb(255, 255, 255)";
};
const contrast = () => Math.min(...texts().filter(e => !(e instanceof SVGElement)).map(e => {
  const [high, low] = [getComputedStyle(e).color, behind(e)].map(luminance).sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}));
