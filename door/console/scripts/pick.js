// Ticking rows of a list: x ticks the row that has the focus, shift-click a range, the box
// in the head all of the page.
"use strict";
(() => {
	const boxes = () => [...document.querySelectorAll("td.pick input")].filter((box) => !box.closest("tr").hidden);
	const head = document.querySelector("[data-pick-all]");
	if (head) {
		head.hidden = false;
		head.addEventListener("change", () => { for (const box of boxes()) box.checked = head.checked; });
	}
	let last = null; // the box that was ticked or cleared before
	document.addEventListener("click", (e) => {
		if (!e.target.matches("td.pick input")) return;
		const all = boxes(), from = all.indexOf(last), to = all.indexOf(e.target);
		if (e.shiftKey && from >= 0) for (const box of all.slice(Math.min(from, to), Math.max(from, to) + 1)) box.checked = e.target.checked;
		last = e.target;
		if (head) head.checked = all.every((box) => box.checked);
	});
	document.addEventListener("keydown", (e) => {
		if (e.key !== "x" || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input:not([type=checkbox]),textarea,select")) return;
		document.activeElement.closest("tr")?.querySelector("td.pick input")?.click();
	});
})();
