"use strict";
// Adds sorting and filtering to the tables that ask for it. All of the report
// can be read without it.
for (const table of document.querySelectorAll("table[data-sort]")) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const numbers = new Intl.Collator("en", { numeric: true });
  Array.from(table.tHead.rows[0].cells).forEach((cell, column) => {
    if (!cell.hasAttribute("data-by")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...cell.childNodes);
    cell.append(button);
    button.addEventListener("click", () => {
      const down = cell.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      const keys = new Map(rows.map((row) => [row, row.cells[column].textContent]));
      rows.sort((a, b) => numbers.compare(keys.get(a), keys.get(b)) * (down ? -1 : 1));
      body.append(...rows);
    });
  });
  const tools = document.querySelector('[data-for="' + table.id + '"]');
  if (!tools || rows.length < 6) continue;
  const text = tools.querySelector("input");
  const select = tools.querySelector("select");
  const said = tools.querySelector("output");
  const texts = rows.map((row) => [row, row.textContent.toLowerCase()]);
  const filter = () => {
    const wanted = text.value.trim().toLowerCase();
    const kind = select ? select.value.toLowerCase() : "";
    let shown = 0;
    for (const [row, content] of texts) {
      const hide = !content.includes(wanted) || !content.includes(kind);
      if (row.hidden !== hide) row.hidden = hide;
      if (!hide) shown++;
    }
    said.textContent = shown + " of " + rows.length + " shown";
  };
  text.addEventListener("input", filter);
  if (select) select.addEventListener("change", filter);
  tools.hidden = false;
  filter();
}
// A printed report shows what is folded.
let folded = [];
addEventListener("beforeprint", () => {
  folded = Array.from(document.querySelectorAll("details:not([open])"));
  for (const d of folded) d.open = true;
});
addEventListener("afterprint", () => { for (const d of folded) d.open = false; });
