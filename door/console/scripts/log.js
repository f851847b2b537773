// The log of a job: follows until one scrolls up, and finds.
"use strict";
(() => {
	const log = document.querySelector(".log[role=log]");
	if (!log) return;
	const control = (name) => document.querySelector(`[data-${name}]`);
	const follow = control("follow"), find = control("find"), found = document.querySelector(".found"), all = control("all");
	// at is where it was scrolled to by itself: who is above that has gone there, by a wheel, a finger, a key or the bar.
	let at = 0;
	const down = () => {
		if (!follow?.checked) return;
		// All of it is within the window: its newest lines stand at its lower edge.
		const tray = document.querySelector(".fault-tray")?.offsetHeight || 0;
		log.style.maxHeight = `${Math.max(120, innerHeight - tray - 16 - scrollY - log.getBoundingClientRect().top)}px`;
		log.scrollTop = log.scrollHeight;
		at = log.scrollTop;
	};
	control("wrap").addEventListener("change", (e) => log.classList.toggle("wrap", e.target.checked));
	log.addEventListener("scroll", () => {
		if (follow && log.scrollTop < at - 1 && log.scrollHeight - log.clientHeight - log.scrollTop > 1) follow.checked = false;
	}, { passive: true });
	if (follow) follow.addEventListener("change", down);

	let hits = [], hit = -1, back = false;
	const search = () => {
		const text = find.value.toLowerCase();
		for (const line of log.querySelectorAll(".hit")) line.classList.remove("hit");
		if (all) all.href = `?find=${encodeURIComponent(find.value)}`;
		hits = text ? [...log.querySelectorAll(".line")].filter((l) => l.querySelector("code").textContent.toLowerCase().includes(text)) : [];
		for (const line of hits) line.classList.add("hit");
		hit = -1;
		found.textContent = text ? `${hits.length} ${hits.length === 1 ? "line" : "lines"}` : "";
	};
	find.addEventListener("input", search);
	find.addEventListener("keydown", (e) => back = e.shiftKey);
	// By whatever key, or button of a phone, it is asked for.
	find.form.addEventListener("submit", (e) => {
		if (!hits.length) return; // where nothing is here, the node looks in all of it
		e.preventDefault();
		hit = back ? (hit < 1 ? hits.length : hit) - 1 : (hit + 1) % hits.length;
		if (follow) follow.checked = false;
		hits[hit].closest("details").open = true;
		hits[hit].scrollIntoView({ block: "center" });
		found.textContent = `${hit + 1} of ${hits.length} lines`;
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
		if (gone || count === most) {
			for (const more of [control("earlier"), all]) if (more) more.hidden = false;
			const before = log.querySelector(".line .n").dataset.n - 1;
			if (control("earlier")) control("earlier").href = `?from=${Math.max(0, before - most)}#L${before}`;
		}
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
