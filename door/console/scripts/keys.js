// Keys, menus, and what is copied.
"use strict";
(() => {
	const typing = (e) => e.target.closest("input,textarea,select,[contenteditable]");

	// On a phone the rail and the tabs are lines, of which a part can be seen.
	for (const here of document.querySelectorAll(":is(.rail,.tabs) [aria-current]")) here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - 24;

	let going = false; // g was pressed: the next key says where to
	document.addEventListener("keydown", (e) => {
		if (e.key === "Escape") {
			for (const open of document.querySelectorAll("details[open]:is(.menu,.sheet,.copy)")) {
				open.open = false;
				if (open.contains(document.activeElement)) open.querySelector("summary").focus();
			}
			return;
		}
		if (typing(e) || e.ctrlKey || e.metaKey || e.altKey) return;
		if (e.key === "?") {
			document.querySelector(".keys")?.showModal();
		} else if (e.key >= "1" && e.key <= "9") {
			document.querySelectorAll(".tabs a")[e.key - 1]?.click();
		} else if (going) {
			const place = { o: "", f: "flows", j: "jobs", s: "sagas", c: "schedules", b: "blueprints", e: "effects", d: "letters", m: "messages", a: "archive", n: "operate", r: "rights" }[e.key];
			const home = document.querySelector(".rail a");
			if (home && place !== undefined) location.href = home.getAttribute("href") + place;
			going = false;
		} else if (e.key === "g") {
			going = true;
			setTimeout(() => { going = false; }, 1500);
		} else if (e.key === "j" || e.key === "k") {
			const rows = [...document.querySelectorAll("tr[data-href] a")].filter((a, i, all) => !i || all[i - 1].closest("tr") !== a.closest("tr"));
			const at = rows.findIndex((a) => a.closest("tr").contains(document.activeElement));
			const next = rows[Math.min(Math.max(at + (e.key === "j" ? 1 : -1), 0), rows.length - 1)];
			if (next) next.focus();
		}
	});

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
		if (row && !e.target.closest("a,button,input,label,summary") && !String(getSelection())) location.href = row.dataset.href;
	});
})();
