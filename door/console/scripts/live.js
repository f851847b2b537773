// Pages that live: the node sends what differs in their text, and it is put in place. Nothing
// else moves: what a person has opened, chosen or written stays.
"use strict";
(() => {
	const keep = new Set(["open", "hidden"]); // attributes that are the reader's own
	// Two nodes are the same thing where they have the same mark: of rows their place to go
	// to, of steps their name, of sheets what they do, of others their first class.
	const mark = (n) => n.nodeType !== 1 ? n.nodeName : [n.nodeName, n.id, n.dataset.href || n.dataset.step || n.dataset.act || n.classList[0]].join(" ");
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
		if (from.matches("input,textarea,select,[data-own]")) { // what is typed, and what scripts fill: of a log that goes on they are told
			if (from.matches(".log") && from.dataset.goes !== to.dataset.goes) {
				from.dataset.goes = to.dataset.goes;
				from.dispatchEvent(new Event("goes-on"));
			}
			return;
		}
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
		if (!node.matches?.(".flash")) node.remove(); // what an action did is told to who did it
		return next;
	};

	// gather hides the rows of a list that were not there before: nothing is pushed away from
	// under the eye. They come when one asks for them. Where the page is full, what stands behind
	// the last row that it still has was pushed off its end, and stays as long.
	const gather = (from, to) => {
		const rows = [...from.rows], known = new Set(rows.map(mark)), wanted = new Set([...to.rows].map(mark));
		for (const row of to.rows) if (!known.has(mark(row))) row.hidden = true;
		const count = [...to.rows].filter((row) => row.hidden).length + rows.filter((row) => row.hidden && wanted.has(mark(row))).length;
		const full = to.closest("main").querySelector(".pager [rel=next]");
		const end = rows.findLastIndex((row) => wanted.has(mark(row))) + 1;
		if (full) for (const row of rows.slice(end)) if (!row.hidden) to.appendChild(row.cloneNode(true)).dataset.past = "";
		const line = from.closest(".scroll").previousElementSibling;
		line.hidden = !count;
		line.firstElementChild.textContent = `${count}${full && count === wanted.size ? "+" : ""} new`;
	};
	document.addEventListener("click", (e) => {
		const line = e.target.closest(".fresh");
		if (!line) return;
		line.hidden = true;
		const list = line.nextElementSibling, fresh = [...list.querySelectorAll("tr[hidden]")];
		for (const row of fresh) row.hidden = false;
		for (const row of list.querySelectorAll("tr[data-past]:not(:has(:checked))")) row.remove(); // what is ticked is still wanted
		fresh[0]?.querySelector("a")?.focus(); // the button is gone, and the focus with it
	});

	const chip = document.getElementById("node-chip");
	let title = chip?.title;
	const connected = (is, why) => {
		if (!chip) return;
		chip.classList.toggle("cut", !is);
		chip.title = !is && why || title;
		const stale = chip.querySelector(".stale");
		if (stale) stale.hidden = is;
	};

	// put shows a text of the page's content. What said what an action did stays.
	const put = (text) => {
		const main = document.getElementById("main"), fresh = main.cloneNode(false);
		fresh.innerHTML = text; // written by the node's templates, which escape what others wrote
		morph(main, fresh);
	};

	// lines is the text that was sent last, has its name.
	let lines = [], has = "", events = null, ended = false, patience = 1000;

	const load = async () => {
		try {
			const answer = await fetch(location.href, { credentials: "same-origin" });
			if (answer.status === 401) {
				// The session has ended: the page of signing in, where nothing is lost by that.
				if (document.dispatchEvent(new Event("signed-out", { cancelable: true }))) location.reload();
				return;
			}
			// What one may not see any more, or is gone, does not stay: the page of that says why.
			const gone = answer.status === 403 || answer.status === 404;
			ended ||= gone;
			connected(answer.ok || gone);
			if (answer.ok || gone) put(new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main").innerHTML);
		} catch {
			connected(false);
		}
	};

	const { live } = document.body.dataset;
	if (!live) return;
	let busy = false, more = false;
	// A large page takes its time: what comes meanwhile is shown together.
	const show = () => {
		more = true;
		if (busy) return;
		busy = true;
		requestAnimationFrame(() => {
			const began = performance.now();
			more = false;
			put(lines.join("\n"));
			setTimeout(() => {
				busy = false;
				if (more) show();
			}, 2 * (performance.now() - began));
		});
	};
	// The node says something every 10 s at least. Where it does not it hangs, or the way to it is gone.
	let silence = 0;
	const heard = () => {
		clearTimeout(silence);
		silence = setTimeout(() => {
			connected(false, "Nothing has come from this node for 25 s.");
			leave();
			follow();
		}, 25000);
	};
	const follow = () => {
		if (events || ended || document.hidden) return;
		events = new EventSource(`${live}&has=${has}`);
		heard();
		const on = (name, then) => events.addEventListener(name, (e) => {
			heard();
			connected(name !== "away" && name !== "error", e.data && name === "away" ? JSON.parse(e.data).why : "");
			then(e.data ? JSON.parse(e.data) : {});
		});
		on("open", () => patience = 1000);
		on("away", () => {});
		on("beat", () => {});
		on("node", (p) => {
			title = chip.title = p.title;
			chip.classList.toggle("away", p.away);
			chip.querySelector(".soft").textContent = p.says;
		});
		on("change", load);
		on("whole", (p) => {
			[lines, has] = [p.text.split("\n"), p.id];
			show();
		});
		on("patch", (p) => {
			if (p.from !== has) {
				has = ""; // what was in between was lost
				leave();
				return follow();
			}
			for (const { at, drop, add } of p.lines.reverse()) lines.splice(at, drop, ...add);
			has = p.id;
			if (p.lines.length) show();
		});
		on("end", () => {
			ended = true;
			leave();
		});
		on("error", (problem) => {
			if ([401, 403, 404].includes(problem.status)) { // the node has ended it, and will again
				leave();
				return load().then(() => setTimeout(follow, patience));
			}
			// The browser tries again by itself where the node was there; where it was refused,
			// the page looks by itself, ever less often, and not all at once with others.
			if (!events || events.readyState !== EventSource.CLOSED) return;
			leave();
			setTimeout(() => load().then(follow), patience * (1 + Math.random()));
			patience = Math.min(2 * patience, 16000);
		});
	};
	const leave = () => {
		clearTimeout(silence);
		if (events) events.close();
		events = null;
	};
	// What nobody looks at follows nothing: a browser has few connections for one node.
	document.addEventListener("visibilitychange", () => document.hidden ? leave() : follow());
	addEventListener("pagehide", leave);
	addEventListener("pageshow", follow);
	follow();
})();
