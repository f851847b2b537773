// The editor checks as one types: what the page of Check would say is asked for, and put
// beside the text. The text itself, and the version that it began with, stay as they are.
"use strict";
(() => {
	const form = document.querySelector(".editing form");
	if (!form) return;
	let timer, asked = 0;
	const check = async () => {
		const mine = ++asked;
		const answer = await fetch(form.action, { method: "POST", credentials: "same-origin", body: new URLSearchParams(new FormData(form)) }).catch(() => null);
		if (!answer?.ok || mine !== asked) return; // another text is asked for already
		const page = new DOMParser().parseFromString(await answer.text(), "text/html");
		const put = (old, fresh) => old && fresh && old.replaceWith(document.importNode(fresh, true));
		put(document.querySelector(".editing>div"), page.querySelector(".editing>div"));
		put(form.querySelector(".actions"), page.querySelector(".editing form .actions"));
		const sentence = page.querySelector("main>.sentence"), shown = document.querySelector("main>.sentence");
		if (shown) put(shown, sentence);
		else if (sentence) document.querySelector("main>h1").before(document.importNode(sentence, true));
	};
	form.elements.text.addEventListener("input", () => {
		clearTimeout(timer);
		timer = setTimeout(check, 500);
	});
})();
