// The log of a job: follows until one scrolls up, and finds.
"use strict";
(() => {
	const log = document.querySelector(".log[role=log]");
	if (!log) return;
	const control = (name) => document.querySelector(`[data-${name}]`);
	const follow = control("follow"), find = control("find"), found = document.querySelector(".found"), all = control("all");
	const down = () => {
		if (follow && follow.checked) log.scrollTop = log.scrollHeight;
	};
	control("wrap").addEventListener("change", (e) => log.classList.toggle("wrap", e.target.checked));
	log.addEventListener("wheel", (e) => {
		if (follow && e.deltaY < 0) follow.checked = false;
	}, { passive: true });
	log.addEventListener("keydown", (e) => {
		if (follow && (e.key === "ArrowUp" || e.key === "PageUp" || e.key === "Home")) follow.checked = false;
	});
	if (follow) follow.addEventListener("change", down);

	let hits = [], at = -1, back = false;
	const search = () => {
		const text = find.value.toLowerCase();
		for (const line of log.querySelectorAll(".hit")) line.classList.remove("hit");
		if (all) all.href = `?find=${encodeURIComponent(find.value)}`;
		hits = text ? [...log.querySelectorAll(".line")].filter((l) => l.querySelector("code").textContent.toLowerCase().includes(text)) : [];
		for (const line of hits) line.classList.add("hit");
		at = -1;
		found.textContent = text ? `${hits.length} ${hits.length === 1 ? "line" : "lines"}` : "";
	};
	find.addEventListener("input", search);
	find.addEventListener("keydown", (e) => back = e.shiftKey);
	// By whatever key, or button of a phone, it is asked for.
	find.form.addEventListener("submit", (e) => {
		if (!hits.length) return; // where nothing is here, the node looks in all of it
		e.preventDefault();
		at = back ? (at < 1 ? hits.length : at) - 1 : (at + 1) % hits.length;
		if (follow) follow.checked = false;
		hits[at].closest("details").open = true;
		hits[at].scrollIntoView({ block: "center" });
		found.textContent = `${at + 1} of ${hits.length} lines`;
	});

	if ("end" in log.dataset && !location.hash) log.scrollTop = log.scrollHeight;
	if (!log.dataset.log) return;
	// most is how many lines stay; older ones go, and their page has them. each is how many come in one frame:
	// what brings more at once is felt.
	const most = 2000, each = 200;
	let waiting = [], count = log.querySelectorAll(".line").length;
	const show = () => {
		const empty = log.querySelector("[data-empty]");
		if (empty) empty.remove();
		const gone = Math.max(0, waiting.length - most); // they would go again at once
		const taken = waiting.splice(0, gone + each), lines = taken.slice(gone), piece = document.createElement("template");
		const begun = taken.slice(0, gone).findLast((l) => l.part);
		if (begun) log.insertAdjacentHTML("beforeend", begun.part);
		let text = "";
		const put = () => {
			piece.innerHTML = text; // written by the node's templates, which escape what others wrote
			log.lastElementChild.append(piece.content);
			text = "";
		};
		for (const { html, part } of lines) {
			if (part) {
				put();
				log.insertAdjacentHTML("beforeend", part);
			}
			text += html;
		}
		put();
		count += lines.length;
		if (count > most) {
			for (const line of [...log.querySelectorAll(".line")].slice(0, count - most)) line.remove();
			for (const part of [...log.children]) if (part !== log.lastElementChild && !part.querySelector(".line")) part.remove();
			count = most;
		}
		if (gone || count === most) for (const more of [control("earlier"), all]) if (more) more.hidden = false;
		down();
		if (waiting.length) requestAnimationFrame(show);
	};
	const events = new EventSource(log.dataset.log);
	events.addEventListener("line", (e) => {
		if (waiting.push(JSON.parse(e.data)) === 1) requestAnimationFrame(show);
	});
	events.addEventListener("end", () => events.close());
	down();
})();
