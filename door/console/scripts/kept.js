// What somebody has written stays when it cannot be sent: before a form goes, it is asked
// whether the node is there, and whether who writes is still signed in. Without script the
// page of signing in takes it along.
"use strict";
(() => {
	let note = null;
	// tell says at the top why nothing was sent: false, nobody is signed in; null, the node
	// does not answer.
	const tell = (signedIn) => {
		note?.remove();
		note = null;
		if (signedIn) return;
		note = document.createElement("p");
		note.className = "flash unwell";
		note.setAttribute("role", "status");
		if (signedIn === null) {
			note.textContent = "The node does not answer. Nothing was sent, and what you have written stays here: try again when it is back.";
		} else {
			const link = document.createElement("a");
			link.href = "/console/sign-in";
			link.target = "_blank";
			link.textContent = "Sign in in another tab";
			note.append("You are signed out. Nothing was sent, and what you have written stays here. ", link, ", then go on.");
		}
		document.getElementById("main").prepend(note);
		note.scrollIntoView({ block: "nearest" });
	};
	const signedIn = async () => {
		const answer = await fetch("/console/signed-in", { credentials: "same-origin" }).catch(() => null);
		const is = answer?.ok || (answer?.status === 401 ? false : null);
		tell(is);
		return is;
	};
	document.addEventListener("submit", async (e) => {
		const form = e.target, { dataset } = form;
		if (form.method !== "post" || !form.closest("main") || form.closest(".door") || dataset.sure || !form.querySelector("input:not([type=hidden]),textarea")) return;
		e.preventDefault();
		if (dataset.asking) return;
		dataset.asking = "1";
		if (await signedIn()) {
			dataset.sure = "1";
			form.requestSubmit(e.submitter);
		}
		delete dataset.asking;
		delete dataset.sure; // who comes back by the browser's button is asked for again
	});
	// Others find it out by themselves: pages that live, and the check of the editor.
	document.addEventListener("signed-out", (e) => {
		// The value of a mark that was not named is "on", which nobody has written.
		const written = (f) => f.value !== f.defaultValue && !["checkbox", "radio"].includes(f.type);
		if (!document.querySelector(".editing") && ![...document.querySelectorAll("main :is(input,textarea)")].some(written)) return;
		e.preventDefault(); // there is something to be lost
		tell(false);
	});
	document.addEventListener("visibilitychange", () => { if (note && !document.hidden) signedIn(); });
})();
