// The graph of a flow: arrows walk from step to step, the way through a step is lit, and the
// drawing is made larger and smaller.
"use strict";
(() => {
	const graph = document.querySelector(".graph");
	if (!graph) return;

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
	document.addEventListener("keydown", (e) => {
		if (e.key.startsWith("Arrow") && document.activeElement.closest(".graph .node")) walk(e);
	});

	// light marks all that a step needs, and all that needs it.
	const light = (node) => {
		const edges = [...graph.querySelectorAll(".edge")];
		for (const edge of edges) edge.classList.remove("lit");
		if (!node) return;
		const spread = (from, to) => {
			const seen = new Set([node.dataset.step]), next = [node.dataset.step];
			while (next.length) {
				const name = next.pop();
				for (const edge of edges) {
					if (edge.dataset[from] !== name) continue;
					edge.classList.add("lit");
					if (!seen.has(edge.dataset[to])) {
						seen.add(edge.dataset[to]);
						next.push(edge.dataset[to]);
					}
				}
			}
		};
		spread("from", "to");
		spread("to", "from");
	};
	graph.addEventListener("mouseover", (e) => light(e.target.closest(".node")));
	graph.addEventListener("mouseleave", () => light(null));
	graph.addEventListener("focusin", (e) => light(e.target.closest(".node")));

	const svg = graph.querySelector("svg"), bar = document.querySelector(".zoom");
	if (svg && bar) {
		bar.hidden = graph.scrollWidth <= graph.clientWidth && graph.scrollHeight <= graph.clientHeight; // nothing is out of sight
		const whole = svg.viewBox.baseVal;
		let scale = 0; // as the page has it
		bar.addEventListener("click", (e) => {
			const by = e.target.dataset.zoom;
			if (!by) return;
			const now = scale || svg.getBoundingClientRect().width / whole.width;
			const high = parseFloat(getComputedStyle(graph).maxHeight); // as high as it may become
			const all = Math.min((graph.clientWidth - 2) / whole.width, (high - 2) / whole.height);
			scale = Math.min(by === "fit" ? all : Math.max(now * by, Math.min(0.15, all)), 3);
			svg.dataset.zoomed = ""; // a live page keeps the size, and it fits no more by itself
			svg.setAttribute("width", whole.width * scale);
			svg.setAttribute("height", whole.height * scale);
		});
	}

	// The chosen step is brought into view, else the first: a wide graph has nothing in its corner.
	const chosen = graph.querySelector(".chosen") || graph.querySelector(".node");
	if (chosen && (graph.scrollWidth > graph.clientWidth || graph.scrollHeight > graph.clientHeight)) {
		const b = chosen.getBoundingClientRect(), g = graph.getBoundingClientRect();
		graph.scrollLeft += b.x + b.width / 2 - g.x - g.width / 2;
		graph.scrollTop += b.y + b.height / 2 - g.y - g.height / 2;
	}
})();
