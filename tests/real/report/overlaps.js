// Every pair of texts on the page that lie on each other: lines of text by their boxes, hidden or cut-off ones left out.
const boxes = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const text = node.textContent.trim(), parent = node.parentElement;
  if (!text || parent.closest("script,style,title,option,header")) continue;
  if (!parent.checkVisibility()) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  const clip = parent.closest(".wide,.tall"), frame = clip ? clip.getBoundingClientRect() : null;
  for (const box of range.getClientRects()) {
    if (box.width < 1 || box.height < 1) continue;
    if (frame && (box.bottom > frame.bottom + 1 || box.top < frame.top - 1)) continue;
    const shrink = parent.closest("svg") ? box.height * 0.16 : 1;  // a line's box is taller than its letters
    boxes.push([box.left, box.top + shrink, box.right, box.bottom - shrink, text]);
  }
}
boxes.sort((a, b) => a[1] - b[1]);
const found = [];
for (let i = 0; i < boxes.length; i++) {
  for (let j = i + 1; j < boxes.length && boxes[j][1] < boxes[i][3]; j++) {
    const a = boxes[i], b = boxes[j];
    if (Math.min(a[2], b[2]) - Math.max(a[0], b[0]) > 1 && Math.min(a[3], b[3]) - Math.max(a[1], b[1]) > 1)
      found.push(a[4] + " / " + b[4]);
  }
}
return found;
