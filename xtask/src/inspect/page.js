"use strict";
// A listing is unpacked when it is opened for the first time.
async function unpack(details) {
  const packed = details.dataset.deflated;
  if (!details.open || packed === undefined) return;
  delete details.dataset.deflated;
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  details.querySelector("pre").innerHTML = await new Response(stream).text();
}
document.addEventListener("toggle", (event) => unpack(event.target), true);
// A link to a kernel opens its first listing.
function goTo() {
  const section = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const details = section && section.querySelector("details");
  if (details) details.open = true;
  if (section) section.scrollIntoView();
}
window.addEventListener("hashchange", goTo);
// Hides what does not match; without this script everything is shown.
const search = document.getElementById("search");
const found = document.getElementById("found");
const items = [...document.querySelectorAll("[data-kernel]")];
function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const item of items) {
    const hit = words.every((word) => item.dataset.kernel.includes(word));
    item.hidden = !hit;
    if (hit && item.tagName === "SECTION") count += 1;
  }
  found.textContent = count + " of " + items.filter((item) => item.tagName === "SECTION").length;
}
search.addEventListener("input", filter);
search.value = new URLSearchParams(location.search).get("search") || "";
filter();
// Behind the search, which moves everything.
goTo();
// A click on a column's name sorts by it.
const table = document.getElementById("resources");
table.tHead.addEventListener("click", (event) => {
  const column = event.target.closest("th").cellIndex;
  const key = (row) => row.cells[column].textContent;
  const order = (a, b) => key(a).localeCompare(key(b), undefined, { numeric: true });
  const body = table.tBodies[0];
  const before = [...body.rows];
  const after = before.slice().sort(order);
  if (after.every((row, at) => row === before[at])) after.reverse();
  body.append(...after);
});
