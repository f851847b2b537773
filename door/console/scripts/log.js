// The log of a job: follows until one scrolls up, and finds.
"use strict";
(() => {
	const log = document.querySelector(".log[role=log]");
	if (!log) return;
	const control = (name) => document.querySelector(`[data-${name}]`);
	const follow = control("follow"), find = control("find"), found = document.querySelector(".found"), all = control("all"), newer = document.querySelector(".newer");
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
	control("wrap").parentElement.hidden = false;
	control("wrap").addEventListener("change", (e) => log.classList.toggle("wrap", e.target.checked));
	const leave = () => {
		if (!follow?.checked) return;
		follow.checked = false;
		left = next;
	};
	log.addEventListener("scroll", () => {
		if (log.scrollTop < at - 1 && log.scrollHeight - log.clientHeight - log.scrollTop > 1) leave();
	}, { passive: true });

	let hits = [], hit = -1, back = false;
	const lines = (n) => `${n} ${n === 1 ? "line" : "lines"}`;
	const tell = () => found.textContent = hit >= 0 ? `${hit + 1} of ${lines(hits.length)}` : find.value ? lines(hits.length) : "";
	// look takes those of some lines that have what is looked for.
	const look = (some) => {
		const text = find.value.toLowerCase();
		if (!text) return;
		for (const line of some) {
			if (!line.querySelector("code").textContent.toLowerCase().includes(text)) continue;
			line.classList.add("hit");
			hits.push(line);
		}
	};
	const search = () => {
		for (const line of log.querySelectorAll(".hit")) line.classList.remove("hit");
		if (all) all.href = `?find=${encodeURIComponent(find.value)}`;
		[hits, hit] = [[], -1];
		look(log.querySelectorAll(".line"));
		tell();
	};
	find.addEventListener("input", search);
	find.addEventListener("keydown", (e) => back = e.shiftKey);
	// By whatever key, or button of a phone, it is asked for.
	find.form.addEventListener("submit", (e) => {
		if (!hits.length) return; // where nothing is here, the node looks in all of it
		e.preventDefault();
		hit = back ? (hit < 1 ? hits.length : hit) - 1 : (hit + 1) % hits.length;
		leave();
		hits[hit].closest("details").open = true;
		hits[hit].scrollIntoView({ block: "center" });
		tell();
	});

	if ("end" in log.dataset && !location.hash) log.scrollTop = log.scrollHeight;
	// most is how many lines stay; older ones go, and their page has them, but not from under the eye of who has left
	// the end: there the newer ones wait. each is how many come in one frame: what brings more at once is felt.
	const most = 2000, each = 200;
	// next is the line that comes next, counted from 0, and left the one that was when the end was left.
	let waiting = [], due = false, count = log.querySelectorAll(".line").length;
	let events = null, next = Number([...log.querySelectorAll(".line .n")].at(-1)?.dataset.n || 0), left = 0;
	const ask = () => {
		if (!due) requestAnimationFrame(show);
		due = true;
	};
	const show = () => {
		due = false;
		newer.hidden = follow.checked || next === left;
		newer.firstElementChild.textContent = `${next - left} newer ${next - left === 1 ? "line" : "lines"}`;
		const room = follow.checked ? each : Math.min(each, most - count);
		if (!waiting.length || room <= 0) return down();
		const empty = log.querySelector("[data-empty]");
		if (empty) empty.remove();
		const gone = follow.checked ? Math.max(0, waiting.length - most) : 0; // they would go again at once
		const taken = waiting.splice(0, gone + room), lines = taken.slice(gone), piece = document.createElement("template");
		const begun = taken.slice(0, gone).findLast((l) => l.part);
		if (begun) log.insertAdjacentHTML("beforeend", begun.part);
		let text = "";
		const put = () => {
			piece.innerHTML = text; // written by the node's templates, which escape what others wrote
			look(piece.content.children);
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
			const here = hits.filter((line) => line.isConnected);
			hit = Math.max(-1, hit - hits.length + here.length);
			hits = here;
		}
		tell();
		if (gone || count === most) {
			for (const more of [control("earlier"), all]) if (more) more.hidden = false;
			const before = log.querySelector(".line .n").dataset.n - 1;
			if (control("earlier")) control("earlier").href = `?from=${Math.max(0, before - most)}#L${before}`;
		}
		down();
		if (waiting.length) ask();
	};
	if (follow) follow.addEventListener("change", () => {
		left = next;
		show();
	});
	newer.addEventListener("click", () => {
		follow.checked = true;
		show();
		log.focus(); // the button is gone, and the focus with it
	});
	// A log that has ended goes on after a retry.
	const listen = (address) => {
		follow.parentElement.hidden = false;
		events = new EventSource(address);
		events.addEventListener("line", (e) => {
			next = Number(e.lastEventId) + 1;
			waiting.push(JSON.parse(e.data));
			ask();
		});
		events.addEventListener("end", () => events.close());
		down();
	};
	if (log.dataset.log) listen(log.dataset.log);
	log.addEventListener("goes-on", () => {
		if (follow && (!events || events.readyState === EventSource.CLOSED)) listen(`${log.dataset.goes}&from=${next}`);
	});
})();
