// Editors and forms that make something check as one types: what their page would say is
// asked for, and put beside what is typed. That itself, and the version that it began with,
// stay as they are.
"use strict";
(() => {
	const form = document.querySelector(".editing form[data-check]");
	if (!form) return;
	let timer, asked = 0;
	const put = (old, fresh) => old && fresh && old.replaceWith(document.importNode(fresh, true));
	const check = async () => {
		const mine = ++asked;
		const body = new URLSearchParams(new FormData(form));
		for (const secret of form.querySelectorAll("[data-secret]")) body.delete(secret.name); // it is sent once, to be used
		const answer = await fetch(form.action, { method: "POST", credentials: "same-origin", body }).catch(() => null);
		if (answer?.status === 401) document.dispatchEvent(new Event("signed-out", { cancelable: true }));
		if (!answer?.ok || mine !== asked) return; // another text is asked for already
		const page = new DOMParser().parseFromString(await answer.text(), "text/html");
		for (const css of [".editing>div", ".editing .wrong", ".editing .actions", "main>.head"]) put(document.querySelector(css), page.querySelector(css));
		for (const field of form.querySelectorAll(".field")) faults(field, page.querySelector(`.field:has([name="${field.querySelector("[name]").name}"])`));
		const sentence = page.querySelector("main>.sentence"), shown = document.querySelector("main>.sentence");
		if (shown) put(shown, sentence);
		else if (sentence) document.querySelector("main>h1,main>.title").before(document.importNode(sentence, true));
	};
	// faults puts what is said below a field below that which is typed in.
	const faults = (field, fresh) => {
		field.querySelector(".below")?.remove();
		const below = fresh.querySelector(".below"), input = field.querySelector("[name]:not([type=hidden])"), said = fresh.querySelector("[name]:not([type=hidden])");
		if (below) field.append(document.importNode(below, true));
		for (const name of ["aria-invalid", "aria-describedby"]) said.hasAttribute(name) ? input.setAttribute(name, said.getAttribute(name)) : input.removeAttribute(name);
	};
	form.addEventListener("input", () => {
		clearTimeout(timer);
		timer = setTimeout(check, 500);
	});
})();
