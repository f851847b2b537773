// Pages that live: when the node says that something has changed, or every few seconds, the
// page is loaded anew, and what differs is put in place. Nothing else moves: what a person
// has opened, chosen or written stays.
"use strict";
(() => {
	const keep = new Set(["open", "hidden"]); // attributes that are the reader's own
	// Two nodes are the same thing where they have the same mark: of rows their place to go
	// to, of steps their name, of others their first class.
	const mark = (n) => n.nodeType !== 1 ? n.nodeName : [n.nodeName, n.id, n.dataset.href || n.dataset.step || n.classList[0]].join(" ");
	const same = (a, b) => mark(a) === mark(b);

	const attributes = (from, to) => {
		for (const { name, value } of [...to.attributes]) if (!keep.has(name) && from.getAttribute(name) !== value) from.setAttribute(name, value);
		for (const { name } of [...from.attributes]) if (!keep.has(name) && !to.hasAttribute(name)) from.removeAttribute(name);
	};

	const morph = (from, to) => {
		if (from.nodeType !== 1) {
			if (from.data !== to.data) from.data = to.data;
			return;
		}
		if (from.matches("input,textarea,select,[data-log],[data-own]")) return; // what is typed, a log that follows by itself, and what scripts fill
		if (from.matches(".fresh+.scroll tbody")) gather(from, to);
		if (!("zoomed" in from.dataset)) attributes(from, to); // its size is the reader's
		let at = from.firstChild;
		const wanted = [...to.childNodes];
		wanted.forEach((want, i) => {
			// What stands here and is not wanted any more goes; what is wanted further on waits.
			while (at && !same(at, want) && (at.nodeType !== 1 || !wanted.slice(i + 1).some((w) => same(at, w)))) at = drop(at);
			if (at && same(at, want)) {
				morph(at, want);
				at = at.nextSibling;
			} else {
				from.insertBefore(document.importNode(want, true), at);
			}
		});
		while (at) at = drop(at);
	};

	// drop removes a node, and returns the one behind it.
	const drop = (node) => {
		const next = node.nextSibling;
		node.remove();
		return next;
	};

	// gather hides the rows of a list that were not there before: nothing is pushed away from
	// under the eye. They come when one asks for them.
	const gather = (from, to) => {
		const known = new Set([...from.rows].map(mark));
		for (const row of to.rows) if (!known.has(mark(row))) row.hidden = true;
		const count = [...to.rows].filter((row) => row.hidden).length + [...from.rows].filter((row) => row.hidden && [...to.rows].some((r) => same(r, row))).length;
		const line = from.closest(".scroll").previousElementSibling;
		line.hidden = !count;
		line.firstElementChild.textContent = `${count} new`;
	};
	document.addEventListener("click", (e) => {
		const line = e.target.closest(".fresh");
		if (!line) return;
		line.hidden = true;
		for (const row of line.nextElementSibling.querySelectorAll("tr[hidden]")) row.hidden = false;
	});

	const chip = document.getElementById("node-chip");
	const connected = (is) => {
		if (!chip) return;
		chip.classList.toggle("cut", !is);
		const stale = chip.querySelector(".stale");
		if (stale) stale.hidden = is;
	};

	let loading = false, again = false;
	const load = async () => {
		if (loading) {
			again = true;
			return;
		}
		loading = true;
		try {
			const answer = await fetch(location.href, { credentials: "same-origin" });
			if (answer.status === 401) {
				location.reload(); // the session has ended: the page of signing in
				return;
			}
			connected(answer.ok);
			if (!answer.ok) return;
			const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
			morph(document.getElementById("main"), fresh.getElementById("main"));
			document.title = fresh.title;
		} catch {
			connected(false);
		} finally {
			loading = false;
			if (again) {
				again = false;
				setTimeout(load, 150);
			}
		}
	};

	const { live, every } = document.body.dataset;
	if (live) {
		const events = new EventSource(live);
		events.addEventListener("open", () => connected(true));
		events.addEventListener("change", load);
		events.addEventListener("end", () => {
			events.close();
			load();
		});
		events.addEventListener("error", () => {
			connected(false);
			if (events.readyState === EventSource.CLOSED) setTimeout(load, 2000);
		});
	}
	if (live || every) {
		// How long something takes goes on while nothing happens.
		setInterval(() => {
			if (!document.hidden) load();
		}, (every || 10) * 1000);
	}
})();
