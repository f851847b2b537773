// Filters of one click take along what is typed beside them and was not sent yet.
"use strict";
document.addEventListener("click", (e) => {
	const chip = e.target.closest(".choices a");
	const form = chip?.closest(".filters").querySelector(".by");
	if (!form) return;
	const to = new URL(chip.href), here = new URLSearchParams(location.search);
	for (const { name, value, defaultValue } of form.querySelectorAll("input")) {
		if (value === defaultValue || to.searchParams.get(name) !== here.get(name)) continue; // which the chip sets itself
		if (value) to.searchParams.set(name, value);
		else to.searchParams.delete(name);
	}
	chip.href = to.href;
});
