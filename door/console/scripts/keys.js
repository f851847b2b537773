// Keys, menus, and what is copied.
"use strict";
(() => {
	const typing = (e) => e.target.closest("input,textarea,select,[contenteditable]");

	document.addEventListener("keydown", (e) => {
		if (e.key === "Escape") {
			for (const open of document.querySelectorAll("details[open]:is(.menu,.sheet,.copy)")) {
				open.open = false;
				if (open.contains(document.activeElement)) open.querySelector("summary").focus();
			}
			return;
		}
		if (typing(e) || e.ctrlKey || e.metaKey || e.altKey) return;
		if (e.key === "/") {
			const jump = document.querySelector(".jump input");
			if (jump) {
				e.preventDefault();
				jump.focus();
			}
		} else if (e.key === "j" || e.key === "k") {
			const rows = [...document.querySelectorAll("tr[data-href] a")].filter((a, i, all) => !i || all[i - 1].closest("tr") !== a.closest("tr"));
			const at = rows.findIndex((a) => a.closest("tr").contains(document.activeElement));
			const next = rows[Math.min(Math.max(at + (e.key === "j" ? 1 : -1), 0), rows.length - 1)];
			if (next) next.focus();
		} else if (e.key.startsWith("Arrow") && document.activeElement.closest(".graph .node")) {
			walk(e);
		}
	});

	// walk goes to the nearest box in the direction of the key.
	const walk = (e) => {
		const middle = (n) => {
			const b = n.getBoundingClientRect();
			return [b.x + b.width / 2, b.y + b.height / 2];
		};
		const here = document.activeElement, [x, y] = middle(here);
		const along = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[e.key];
		let best = null, least = Infinity;
		for (const n of document.querySelectorAll(".graph .node")) {
			const [nx, ny] = middle(n), dx = nx - x, dy = ny - y;
			const forth = dx * along[0] + dy * along[1], aside = Math.abs(dx * along[1]) + Math.abs(dy * along[0]);
			if (n !== here && forth > 4 && forth + 3 * aside < least) {
				best = n;
				least = forth + 3 * aside;
			}
		}
		if (best) {
			e.preventDefault();
			best.focus();
		}
	};

	document.addEventListener("click", (e) => {
		for (const open of document.querySelectorAll("details[open]:is(.menu,.sheet,.copy)")) if (!open.contains(e.target)) open.open = false;
		const copy = e.target.closest(".copy>summary");
		if (copy && navigator.clipboard) {
			const before = copy.textContent;
			navigator.clipboard.writeText(copy.parentElement.querySelector("code").textContent).then(() => {
				copy.textContent = "copied";
				setTimeout(() => { copy.textContent = before; }, 1500);
			}, () => {}); // the command stands there to be marked
		}
		const row = e.target.closest("tr[data-href]");
		if (row && !e.target.closest("a,button,input,summary") && !String(getSelection())) location.href = row.dataset.href;
	});

	// The chosen step of a graph is brought into view.
	const chosen = document.querySelector(".graph .chosen"), graph = document.querySelector(".graph");
	if (chosen && graph.scrollWidth > graph.clientWidth) {
		const b = chosen.getBoundingClientRect(), g = graph.getBoundingClientRect();
		graph.scrollLeft += b.x + b.width / 2 - g.x - g.width / 2;
	}
})();
