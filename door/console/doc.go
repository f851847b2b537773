// Package console is pages for people: a translator between a browser and the operations
// of package api, with no rules of its own. The HTTP door serves it below [Path].
//
//	browser ──> door/http: how many may ask at once, who tried in vain too often
//	               │
//	            Console: which session, then a page ──> service, as every other door
//
// # How a page is made
//
// A page is a method of visit, which is one request: it calls operations with call, fills
// a struct, and renders it within the frame, by its method content. All of it is there
// without script, and its address has all that it shows: tab, filters, cursor, step.
//
//	noun.go               what is read, and what is shown of it
//	noun.templ            how, within frame.templ; parts.templ and table.templ are shared
//	noun_templ.go         the Go code of that, made by go test -run Templates -update
//	styles/noun.css       where it needs a look of its own; all are one sheet
//	scripts/*.js          only move, follow and fold; all are one script
//
// Most pages are a list, or one thing with a few parts: they fill a listBody or a
// detailBody (table.go), and have no template of their own. Templates are compiled, and take
// structs of ours and no any: what looks methods up at run time would make the program a quarter
// larger (docs/decisions/0063).
//
// What is offered follows from the rights of who looks (visit.may); the operation asks for
// itself all the same. A thing to do is an action: a form under a button, which says what
// will happen, to how many, and the command that does the same. What is made of more than
// that has a page of its own, a makeBody (make.go).
//
// What others wrote is escaped by the templates, and goes through plain, ansi or linesOf, which
// leave nothing that acts: no escape sequence, no turned direction. Addresses go through link,
// and what is written past the escaping is made in markup.go alone; a test holds both.
//
// # How a page lives
//
// A page says what of it may change (page.Follow). Browsers follow it, and are sent what
// differs in its text, which they put in place: live pages need no second way to be written.
// It is made once for all who have the same rights, which are looked at for each of them
// before anything is sent: docs/decisions/0045.
//
//	board ──> feed, one for a context ──> shown, a page at one class of rights ──> viewers
//	 keys                     what it follows │ text, and what differs
//
// The log of a job is sent line by line, as the template writes lines; it, too, is read once
// for all who see the same (sharedlog.go).
//
// # Who looks
//
// Sessions lie in the node's memory, and hold what proved who it is, which is looked at
// anew with each request: docs/decisions/0039. Their cookie goes to the console's pages
// alone, is not readable by scripts, and comes with no request that another site caused.
// Beside that, requests that change something are taken only from pages of the console
// (net/http.CrossOriginProtection).
//
// # Goroutines
//
// One for each context of which somebody follows a page: it hears what changes there. It has
// ended when the last of them leaves. Pages are made by those who look at them, in turns.
// One for each log that somebody follows, which ends with the looking of who began it; then
// another of those who look begins one.
package console
