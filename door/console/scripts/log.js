// The log of a job: follows until one scrolls up, and finds.
"use strict";
(() => {
	const log = document.querySelector(".log[role=log]");
	if (!log) return;
	const control = (name) => document.querySelector(`[data-${name}]`);
	const follow = control("follow"), find = control("find"), found = document.querySelector(".found");
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

	let hits = [], at = -1;
	const search = () => {
		const text = find.value.toLowerCase();
		for (const line of log.querySelectorAll(".hit")) line.classList.remove("hit");
		hits = text ? [...log.querySelectorAll(".line")].filter((l) => l.querySelector("code").textContent.toLowerCase().includes(text)) : [];
		for (const line of hits) line.classList.add("hit");
		at = -1;
		found.textContent = text ? `${hits.length} ${hits.length === 1 ? "line" : "lines"}` : "";
	};
	find.addEventListener("input", search);
	find.addEventListener("keydown", (e) => {
		if (e.key !== "Enter" || !hits.length) return;
		e.preventDefault();
		at = (at + (e.shiftKey ? hits.length - 1 : 1)) % hits.length;
		if (follow) follow.checked = false;
		hits[at].scrollIntoView({ block: "center" });
		found.textContent = `${at + 1} of ${hits.length} lines`;
	});

	if ("end" in log.dataset && !location.hash) log.scrollTop = log.scrollHeight;
	if (!log.dataset.log) return;
	let waiting = [];
	const show = () => {
		const piece = document.createElement("template");
		piece.innerHTML = waiting.join(""); // written by the node's templates, which escape what others wrote
		waiting = [];
		const empty = log.querySelector("[data-empty]");
		if (empty) empty.remove();
		log.append(piece.content);
		while (log.childElementCount > 20000) log.firstElementChild.remove(); // the download has all
		down();
	};
	const events = new EventSource(log.dataset.log);
	events.addEventListener("line", (e) => {
		if (waiting.push(JSON.parse(e.data).html) === 1) requestAnimationFrame(show);
	});
	events.addEventListener("end", () => events.close());
	down();
})();
