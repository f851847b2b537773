// The palette: the page of the search in a dialog, asked for as one types. Pages that were
// seen in this tab come first while nothing is typed.
"use strict";
(() => {
	const form = document.querySelector(".jump");
	if (!form) return;
	const address = form.dataset.search;
	let dialog, input, list, none, timer, asked = 0;

	const seen = () => JSON.parse(sessionStorage.getItem("ramet-seen") || "[]");
	const here = { href: location.pathname + location.search.replace(/[?&]said=[^&]*/, ""), name: document.title.split(" · ")[0] };
	sessionStorage.setItem("ramet-seen", JSON.stringify([here, ...seen().filter((s) => s.href !== here.href)].slice(0, 6)));

	const links = () => [...list.querySelectorAll("a")];
	const choose = (i) => {
		const all = links();
		all.forEach((a, n) => a.setAttribute("aria-selected", n === i));
		if (!all[i]) return input.removeAttribute("aria-activedescendant");
		input.setAttribute("aria-activedescendant", all[i].id);
		all[i].scrollIntoView({ block: "nearest" });
	};
	const chosen = () => links().findIndex((a) => a.getAttribute("aria-selected") === "true");

	const show = (hits) => {
		list.replaceChildren(...hits);
		links().forEach((a, i) => {
			a.id = "hit-" + i;
			a.setAttribute("role", "option");
			a.tabIndex = -1;
			a.parentElement.setAttribute("role", "presentation");
		});
		none.textContent = hits.length ? "" : "Nothing that you may see is called like that.";
		choose(0);
	};

	const entry = ({ href, name }) => {
		const li = document.createElement("li"), a = document.createElement("a"), kind = document.createElement("span"), text = document.createElement("span");
		a.href = href;
		kind.className = "kind";
		kind.textContent = "seen";
		text.className = "name";
		text.textContent = name;
		a.append(kind, text);
		li.append(a);
		return li;
	};

	const ask = async () => {
		const mine = ++asked, words = input.value.trim();
		const answer = await fetch(address + "?q=" + encodeURIComponent(words), { credentials: "same-origin" }).catch(() => null);
		if (mine !== asked) return; // another was asked for meanwhile
		if (!answer?.ok) {
			show([]);
			none.textContent = "The node does not answer this: is it away, or has the session ended?";
			return;
		}
		const page = new DOMParser().parseFromString(await answer.text(), "text/html");
		const hits = [...page.querySelectorAll("main .hits li")].map((li) => document.importNode(li, true));
		if (mine === asked) show(words ? hits : [...seen().slice(1).map(entry), ...hits]);
	};

	// What has the keys is not left to the next drawing of the page: until then they would go to what
	// is closed, and be lost.
	const close = () => {
		dialog.close();
		input.blur();
	};

	const open = () => {
		if (!dialog) {
			dialog = document.createElement("dialog");
			dialog.className = "palette";
			dialog.setAttribute("aria-label", "Search");
			input = document.createElement("input");
			input.type = "text";
			input.maxLength = 200;
			input.autocomplete = "off";
			input.placeholder = "A page, something to do, a key, a name…";
			for (const [name, value] of Object.entries({ role: "combobox", "aria-label": "Search", "aria-expanded": "true", "aria-controls": "palette-hits", "aria-autocomplete": "list" })) input.setAttribute(name, value);
			list = document.createElement("ol");
			list.className = "hits";
			list.id = "palette-hits";
			list.setAttribute("role", "listbox");
			list.setAttribute("aria-label", "What was found");
			none = document.createElement("p");
			none.className = "none soft";
			none.setAttribute("role", "status");
			dialog.append(input, list, none);
			document.body.append(dialog);
			input.addEventListener("input", () => {
				clearTimeout(timer);
				timer = setTimeout(ask, 120);
			});
			dialog.addEventListener("keydown", (e) => {
				const n = links().length;
				if (e.key === "ArrowDown" || e.key === "ArrowUp") {
					e.preventDefault();
					if (n) choose((chosen() + (e.key === "ArrowDown" ? 1 : n - 1)) % n);
				} else if (e.key === "Enter") {
					e.preventDefault();
					const to = links()[chosen()];
					if (to) location.href = to.href;
				} else if (e.key === "Escape") {
					e.preventDefault();
					close();
				}
				e.stopPropagation(); // the page's keys are not for who types here
			});
			dialog.addEventListener("click", (e) => { if (e.target === dialog) close(); });
		}
		if (dialog.open) return;
		input.value = form.elements.q.value;
		dialog.showModal();
		input.select();
		ask();
	};

	form.addEventListener("pointerdown", (e) => {
		e.preventDefault();
		open();
	});
	document.addEventListener("keydown", (e) => {
		const typing = e.target.closest("input,textarea,select");
		if (e.key === "/" && !typing && !e.ctrlKey && !e.metaKey && !e.altKey || e.key.toLowerCase() === "k" && (e.ctrlKey || e.metaKey)) {
			e.preventDefault();
			open();
		}
	});
})();
