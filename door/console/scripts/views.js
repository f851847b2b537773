// Views that are kept by name: the address of a list with its filters, in this browser. Who
// wants to give one to somebody else sends the address.
"use strict";
(() => {
	const bar = document.querySelector("[data-views]");
	if (!bar) return;
	const key = "ramet-views " + location.pathname, most = 20;
	const kept = () => JSON.parse(localStorage.getItem(key) || "[]");
	const keep = (views) => {
		localStorage.setItem(key, JSON.stringify(views.slice(0, most)));
		draw();
	};
	const here = () => {
		const q = new URLSearchParams(location.search);
		q.delete("said");
		q.delete("cursor");
		return String(q);
	};
	const button = (text, label, does) => {
		const b = document.createElement("button");
		b.type = "button";
		b.textContent = text;
		b.setAttribute("aria-label", label);
		b.addEventListener("click", does);
		return b;
	};
	const draw = () => {
		const views = kept(), now = here();
		const entries = views.map(({ name, query }) => {
			const span = document.createElement("span"), a = document.createElement("a");
			a.href = location.pathname + (query ? "?" + query : "");
			a.textContent = name;
			if (query === now) a.setAttribute("aria-current", "true");
			span.append(a, button("×", "Forget view " + name, () => keep(kept().filter((v) => v.name !== name))));
			return span;
		});
		if (now && !views.some((v) => v.query === now)) entries.push(button("Keep this view", "Keep this view", ask));
		bar.replaceChildren(...entries);
		bar.hidden = !entries.length;
	};
	const ask = () => {
		const form = document.createElement("form"), input = document.createElement("input");
		input.setAttribute("aria-label", "Name of the view");
		input.placeholder = "Name of the view";
		input.maxLength = 40;
		input.required = true;
		const done = document.createElement("button");
		done.textContent = "Keep";
		form.append(input, done);
		form.addEventListener("submit", (e) => {
			e.preventDefault();
			const name = input.value.trim();
			if (name) keep([...kept().filter((v) => v.name !== name), { name, query: here() }]);
		});
		form.addEventListener("keydown", (e) => { if (e.key === "Escape") draw(); });
		bar.lastElementChild.replaceWith(form);
		input.focus();
	};
	draw();
})();
